"""What compare.sh measures, and how many floating-point operations that is."""
from collections import namedtuple

Case = namedtuple('Case', 'op shape dtype causal gradient threads')

ATTENTION = ['1x4x64x32', '8x4x128x32', '2x8x512x64', '1x8x1024x64', '1x4x2048x64']
# Attention's products, a language model's (16 sequences of 128, width 128, SwiGLU), squares.
MATMUL = ['8x4x128x32x128', '8x4x128x128x64', '2x8x512x64x512', '2x8x512x512x128',
          '1x4x2048x64x2048', '1x4x2048x2048x128', '2048x128x128', '2048x128x344', '2048x344x128',
          '2048x128x63', '256x256x256', '512x512x512', '1536x1536x1536']
CHAIN = ['[]', '[4]']
CHAINS = ['chain_mul_constant', 'chain_add_constant', 'chain_mul_variable', 'chain_add_variable']
OPS = ['differential_attention', 'attention', 'matmul', *CHAINS]

# Who has which ways of doing an op. Every way of a library is also measured `+tuned`, with a glibc
# that keeps large buffers, where the op makes large ones.
WAYS = {
    'differential_attention': {'xtape': ['composition', 'fused'], 'jax': ['jit'],
                               'torch': ['eager', 'sdpa', 'compile']},
    'matmul': {'xtape': ['matmul'], 'openblas': ['numpy'], 'torch': ['eager']},
    'chain': {'xtape': ['tape'], 'libtorch': ['c++'], 'torch': ['eager']},
}
WAYS['attention'] = WAYS['differential_attention']


def ways(case):
    return WAYS['chain' if case.op in CHAINS else case.op]


def is_tuned(op):
    return op.endswith('attention')


def shapes(op):
    return CHAIN if op in CHAINS else MATMUL if op == 'matmul' else ATTENTION


def cases(ops, wanted_shapes, dtypes, threads):
    """Every case of one number of threads. Products are measured forward, chains on one thread."""
    for op in ops:
        for dtype in dtypes:
            for shape in shapes(op):
                if wanted_shapes and shape not in wanted_shapes:
                    continue
                if op in CHAINS:
                    if threads == 1:
                        yield Case(op, shape, dtype, False, True, threads)
                elif op == 'matmul':
                    yield Case(op, shape, dtype, False, False, threads)
                else:
                    for causal in False, True:
                        for gradient in False, True:
                            yield Case(op, shape, dtype, causal, gradient, threads)


def flops(case):
    """Of an attention: what the fused kernels do, for everyone. None where time is all there is."""
    axes = [int(n) for n in case.shape.strip('[]').split('x') if n]
    if case.op == 'matmul':
        count = 6 if case.gradient else 2
        for n in axes:
            count *= n
        return count
    if case.op in CHAINS:
        return None
    b, h, t, d = axes
    forward, both = (8, 28) if case.op == 'differential_attention' else (4, 14)
    return b * h * t * t * d * (both if case.gradient else forward) // (2 if case.causal else 1)
