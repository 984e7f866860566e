#!/usr/bin/env bash
# Weights go from the Python package safetensors to xtape and back, and come back equal to the last
# bit; those that xtape cannot hold it refuses. Skipped where the package is not: tests/run.sh puts it
# into build/python.
. "$(dirname "${BASH_SOURCE[0]}")/support/exchange.sh"
find_python numpy,safetensors.numpy python3 /usr/bin/python3 "$root/build/python/bin/python" ||
  { echo "skipped: no python3 with NumPy and safetensors"; exit 77; }
build_exchange safetensors.hpp 'const auto read = xtape::load_safetensors<T>(name);
  xtape::save_safetensors(name + ".back", read.values, read.metadata);' || exit

cat >files.py <<'PYTHON'
import os
import sys
import numpy
import safetensors
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

folder, action = sys.argv[1:]
good, refused = {}, {}
for dtype in ('float32', 'float64'):
    x = (numpy.arange(120, dtype=dtype) / 7 - 5).astype(dtype)
    special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, numpy.finfo(dtype).max,
                           numpy.finfo(dtype).tiny / 2], dtype)
    model = {'z': x, 'blocks.0.weight': x.reshape(2, 3, 4, 5), 'a': numpy.array(x[0]),
             'empty': x[:0], 'hollow': numpy.zeros((3, 0, 2), dtype), 'special': special,
             'eight': x[:4].reshape((2, 1, 1, 1, 1, 1, 1, 2)), 'é "\\\n😀': x[:7], '': x[:1]}
    good[f'{dtype}-model'] = model, None
    good[f'{dtype}-metadata'] = model, {'format': 'pt', 'é': '"\n', '': ''}
    good[f'{dtype}-one'] = {'w': x}, None
    good[f'{dtype}-none'] = {}, None
    for other in 'float16', 'int64', 'bool', 'uint8', 'float64' if dtype == 'float32' else 'float32':
        refused[f'{dtype}-and-{other}'] = {'w': x, 'other': x.astype(other)}
    refused[f'{dtype}-nine'] = {'w': x[:1].reshape((1,) * 9)}

def path(name, end=''):
    return os.path.join(folder, name + end)

if action == 'write':
    os.mkdir(folder)
    for name, (arrays, metadata) in good.items():
        save_file(arrays, path(name), metadata)
    for name, arrays in refused.items():
        save_file(arrays, path(name))
    sys.exit()

wrong = []
for name, (arrays, metadata) in good.items():
    if os.path.exists(path(name, '.txt')):
        wrong.append(open(path(name, '.txt')).read())
        continue
    back = load_file(path(name, '.back'))
    if back.keys() != arrays.keys():
        wrong.append(f'{name}: other names came back')
    for key, array in arrays.items():
        found = back.get(key, numpy.array('none'))
        same = found.dtype == array.dtype and found.shape == array.shape
        if not same or found.tobytes() != array.tobytes():
            wrong.append(f'{name}: another array came back as {key}')
    with safe_open(path(name, '.back'), 'numpy') as file:
        if (file.metadata() or {}) != (metadata or {}):
            wrong.append(f'{name}: other metadata came back')
for name in refused:
    text = open(path(name, '.txt')).read() if os.path.exists(path(name, '.txt')) else ''
    if not text.startswith('[load_safetensors] ' + path(name) + ': has '):
        wrong.append(f'{name}: not refused: {text}')
print(*wrong, f'{len(good)} files went from safetensors {safetensors.__version__} and back, '
      f'{len(refused)} were refused', sep='\n')
sys.exit(bool(wrong))
PYTHON
"$python" files.py files write && ./exchange files && "$python" files.py files compare
