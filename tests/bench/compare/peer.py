"""What a Python worker of compare.sh says and hears; serve.hpp describes it."""
import sys
import time
from collections import namedtuple

import numpy

Request = namedtuple('Request', 'op shape dtype causal gradient way')
LONG = 10  # ms


class Unsupported(Exception):
    pass


def normal(stream, shape, dtype):
    """Input `stream`, of mean 0 and variance 1: the same in every worker."""
    h = numpy.arange(numpy.prod(shape, dtype=int), dtype=numpy.uint32)
    h += numpy.uint32(stream * 0x9E3779B9 % 2**32)
    h = (h ^ (h >> 16)) * numpy.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * numpy.uint32(0xC2B2AE35)
    h ^= h >> 16
    return (numpy.sqrt(3.0) * (h / 2147483648.0 - 1)).reshape(shape).astype(dtype)


def attention_inputs(request):
    """q1, k1, q2, k2, value, lambda (or q, k, value) and the cotangent of the result."""
    b, h, t, d = request.shape
    differential = request.op == 'differential_attention'
    narrow, wide = (b, h, t, d), (b, h, t, 2 * d if differential else d)
    inputs = [normal(i, narrow, request.dtype) for i in range(4 if differential else 2)]
    inputs.append(normal(4, wide, request.dtype))
    if differential:
        inputs.append(numpy.array(0.5, request.dtype))
    return inputs, normal(5, wide, request.dtype)


def matmul_inputs(request):
    *batches, m, k, n = request.shape
    shapes = [(*batches, m, k), (*batches, k, n), (*batches, m, n)]
    return [normal(i, shape, request.dtype) for i, shape in enumerate(shapes)]


def milliseconds(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) * 1000 / times


def parse(words):
    op, shape, dtype, causal, gradient, way, folder = words
    axes = tuple(int(n) for n in shape.strip('[]').split('x') if n)
    dtype = {'f32': 'float32', 'f64': 'float64'}[dtype]
    return Request(op, axes, dtype, causal == '1', gradient == 'fg', way), folder


def answer(words, about, make, cases):
    if words[0] == 'prepare':
        request, folder = parse(words[2:])
        run = make(request)
        for i, result in enumerate(run()):
            numpy.save(f'{folder}/{i}.npy', numpy.asarray(result))
        del result
        cases[words[1]] = [run, LONG]  # until the first timing, of one run, tells
    elif words[0] == 'time':
        run, estimate = cases[words[1]]
        if estimate < LONG:
            run()
        cases[words[1]][1] = ms = milliseconds(run, max(1, int(LONG / max(estimate, 1e-4))))
        return ms
    elif words[0] == 'about':
        return about
    else:
        cases.clear()
    return 'ok'


def serve(about, make):
    """Answers requests until there are no more; make(request) gives what is to be timed: a function
    that returns its results, once they are there."""
    cases, out = {}, sys.stdout
    sys.stdout = sys.stderr  # what libraries print is no answer
    for line in sys.stdin:
        try:
            reply = answer(line.split(), about, make, cases)
        except Exception as error:
            text = str(error) if isinstance(error, Unsupported) else repr(error)
            reply = 'no ' + ' '.join(text.split())
        print(reply, file=out, flush=True)
