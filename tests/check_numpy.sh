#!/usr/bin/env bash
# Files go from NumPy to xtape and back, and come back equal to the last bit; those that xtape cannot
# hold it refuses.
. "$(dirname "${BASH_SOURCE[0]}")/support/exchange.sh"
find_python numpy python3 /usr/bin/python3 ||
  { echo "no python3 with NumPy: apt-get install python3-numpy"; exit 1; }
build_exchange npy.hpp 'xtape::save_npy(name + ".back", xtape::load_npy<T>(name));' || exit

cat >files.py <<'PYTHON'
import os
import sys
import numpy
from numpy.lib import format as npy

folder, action = sys.argv[1:]
good, refused = {}, {}
for dtype in ('float32', 'float64'):
    x = (numpy.arange(120, dtype=dtype) / 7 - 5).astype(dtype)
    cube = x.reshape(2, 3, 4, 5)
    for name, array in {
            'scalar': x[0], 'empty': x[:0], 'one': x[:1], 'vector': x, 'cube': cube,
            'hollow': numpy.zeros((3, 0, 2), dtype),
            'eight': x[:4].reshape((2, 1, 1, 1, 1, 1, 1, 2)),
            'fortran': numpy.asfortranarray(cube), 'fortran_matrix': cube[0, 0].copy(order='F'),
            'transposed': cube.T, 'stepped': cube[:, ::-1, ::2],
            'special': numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan,
                                    numpy.finfo(dtype).max, numpy.finfo(dtype).tiny / 2], dtype),
    }.items():
        for version in (1, 0), (2, 0), (3, 0):
            good[f'{dtype}-{name}-{version[0]}'] = numpy.asarray(array), version
    refused[f'{dtype}-big_endian'] = x.astype(x.dtype.newbyteorder('>'))
    refused[f'{dtype}-whole'] = numpy.arange(3)
    refused[f'{dtype}-half'] = x.astype('float16')
    refused[f'{dtype}-complex'] = x.astype('complex128')
    refused[f'{dtype}-bool'] = x > 0
    refused[f'{dtype}-text'] = numpy.array(['a', 'bc'])
    refused[f'{dtype}-object'] = numpy.array([None, 1], dtype=object)
    refused[f'{dtype}-record'] = numpy.zeros(2, dtype=[('a', dtype), ('b', dtype)])
    refused[f'{dtype}-nine'] = x[:1].reshape((1,) * 9)

def path(name, end=''):
    return os.path.join(folder, f'{name}.npy{end}')

if action == 'write':
    os.mkdir(folder)
    for name, (array, version) in good.items():
        with open(path(name), 'wb') as file:
            npy.write_array(file, array, version=version)
    for name, array in refused.items():
        numpy.save(path(name), array)
    sys.exit()

wrong = []
for name, (array, _) in good.items():
    if os.path.exists(path(name, '.txt')):
        wrong.append(open(path(name, '.txt')).read())
        continue
    back = numpy.load(path(name, '.back'))
    mapped = numpy.load(path(name, '.back'), mmap_mode='r')
    for found in back, mapped:
        same = found.dtype == array.dtype and found.shape == array.shape
        if not same or found.tobytes() != array.tobytes():
            wrong.append(f'{name}: another array came back')
for name in refused:
    text = open(path(name, '.txt')).read() if os.path.exists(path(name, '.txt')) else ''
    if not text.startswith('[load_npy] ' + path(name) + ': '):
        wrong.append(f'{name}: not refused: {text}')
print(*wrong, f'{len(good)} files went from NumPy {numpy.__version__} and back, '
      f'{len(refused)} were refused', sep='\n')
sys.exit(bool(wrong))
PYTHON
"$python" files.py files write && ./exchange files && "$python" files.py files compare
