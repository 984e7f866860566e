"""OpenBLAS's part in compare.sh: matrix products through NumPy, whose wheels carry it."""
import numpy

from peer import Unsupported, matmul_inputs, serve


def about():
    blas = numpy.show_config('dicts')['Build Dependencies']['blas']
    return f"{blas['name']} {blas['version']} in NumPy {numpy.__version__}"


def case(request):
    if request.gradient:
        raise Unsupported('no gradients')
    a, b, out = matmul_inputs(request)
    return lambda: [numpy.matmul(a, b, out=out)]


serve(about(), case)
