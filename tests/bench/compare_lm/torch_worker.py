"""PyTorch's part in compare_lm.sh: torch_worker.py FOLDER WAY, where a WAY is plain or sdpa, with
-compiled. Answers `logits FILE` with the loss of the batch, and `step` with milliseconds and loss."""
import os
import sys
import time

import numpy
import torch

import model

folder, way = sys.argv[1:]
torch.set_num_threads(int(os.environ['OMP_NUM_THREADS']))
ids, targets = (torch.from_numpy(numpy.load(f'{folder}/{name}.npy')).long()
                for name in ('ids', 'next'))
network = model.load(f'{folder}/model.safetensors', way.split('-')[0])
step = model.trainer(network, ids, targets, 1e-3, way.endswith('-compiled'))
for line in sys.stdin:
    command, *rest = line.split()
    try:
        if command == 'about':
            reply = f'PyTorch {torch.__version__}'
        elif command == 'logits':
            with torch.no_grad():
                logits = network(ids)
                numpy.save(rest[0], logits.numpy())
                reply = torch.nn.functional.cross_entropy(
                    logits.flatten(0, 1), targets.flatten()).item()
        else:
            start = time.perf_counter()
            loss = step()
            reply = f'{1e3 * (time.perf_counter() - start)} {loss}'
    except Exception as error:  # of the compiler, say: the driver reports it
        reply = f'no {error}'.replace('\n', ' ')
    print(reply, flush=True)
