"""compare_lm.sh's driver: asks every worker in turn for one step of training, round after round."""
import argparse
import os
import statistics
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'compare'))
from workers import Refused, Worker  # noqa: E402

TOKENS = 16 * 128
BAR = 1e-5         # of logits, relative to the largest, and of the loss
STEPS, BAR_STEPS = 10, 1e-3  # steps whose losses are compared: rounding grows from one to the next
WAYS = ['plain', 'sdpa', 'plain-compiled', 'sdpa-compiled']


def arguments():
    parser = argparse.ArgumentParser(
        prog='compare_lm.sh', allow_abbrev=False,
        description='training steps of tiny_lm and of the same model in PyTorch, interleaved')
    parser.add_argument('--threads', default='1,2', help='numbers of threads (1,2)')
    parser.add_argument('--rounds', type=int, default=40, help='timed steps of each (40)')
    parser.add_argument('--kinds', default='ordinary,differential',
                        help='of ordinary, differential and halves: its other way of pairing heads')
    parser.add_argument('--ways', default=','.join(WAYS), help="PyTorch's: " + ' '.join(WAYS))
    parser.add_argument('--tuned', action='store_true',
                        help='PyTorch also with a glibc that keeps large buffers')
    for name in 'bin', 'cache', 'out':
        parser.add_argument(f'--{name}', required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


class Member:
    def __init__(self, name, worker):
        self.name, self.worker = name, worker
        self.times, self.losses = [], []

    def step(self):
        milliseconds, loss = map(float, self.worker.time('step').split())
        self.times.append(milliseconds)
        self.losses.append(loss)

    def speeds(self):
        """Tokens a second: of all timed steps, and of their best tenth, by medians."""
        timed = sorted(self.times[STEPS:])
        best = timed[:max(1, len(timed) // 10)]
        return [TOKENS * 1e3 / statistics.median(some) for some in (timed, best)]


def off(member, reference, folder):
    """By how much the logits, the loss and the losses of the first steps differ, over their bars."""
    found = []
    for m in member, reference:
        loss = float(m.worker.ask(f'logits {folder}/logits.npy'))
        found.append((numpy.load(f'{folder}/logits.npy'), loss))
    (a, x), (b, y) = found
    return max(numpy.abs(a - b).max() / numpy.abs(b).max(), abs(x - y) / y) / BAR


def start(kind, threads, args, folder):
    ours = Member('xtape', Worker([f'{args.bin}/compare_lm_xtape', folder, kind], threads, False,
                                  args.cache))
    members, faults = [ours], []
    for way in args.ways.split(','):
        for tuned in (False, True) if args.tuned else (False,):
            name = f'PyTorch {way}' + ', tuned' * tuned
            try:
                python = f'{args.cache}/venv/bin/python'
                members.append(Member(name, Worker(
                    [python, f'{HERE}/torch_worker.py', folder, way], threads, tuned, args.cache)))
                excess = off(members[-1], ours, folder)
                print(f'{kind}, {threads} threads, {name}: logits and loss differ by '
                      f'{excess * BAR:.1e}, {BAR:.0e} allowed', flush=True)
                if not excess <= 1:
                    faults.append(f'{kind}: {name} has other logits or another loss')
                for _ in range(STEPS):
                    members[-1].step()
            except (Refused, OSError) as reason:
                print(f'{name} is not measured: {reason}', flush=True)
                members = [m for m in members if m.name != name]
    for _ in range(STEPS):
        ours.step()
    for m in members[1:]:
        worst = max(abs(a - b) / b for a, b in zip(m.losses, ours.losses))
        if not worst <= BAR_STEPS:
            faults.append(f'{kind}: in {STEPS} steps {m.name} comes to other losses, by {worst:.1e}')
    return members, faults


def main():
    args = arguments()
    os.makedirs(args.out, exist_ok=True)
    faults = []
    table = ['| attention | threads | who | tokens/s, median | best steps | xtape is faster by |',
             '| --- | --- | --- | --- | --- | --- |']
    for threads in map(int, args.threads.split(',')):
        for kind in args.kinds.split(','):
            with tempfile.TemporaryDirectory() as folder:
                members, wrong = start(kind, threads, args, folder)
                faults += wrong
                for _ in range(args.rounds):
                    for m in members:
                        m.step()
                ours = members[0].speeds()
                for m in members:
                    median, best = m.speeds()
                    row = (f'| {kind} | {threads} | {m.name} | {median:.0f} | {best:.0f} | '
                           f'{ours[0] / median:.2f}, {ours[1] / best:.2f} |')
                    table.append(row)
                    print(row, flush=True)
                for m in members:
                    m.worker.stop()
    with open(f'{args.out}/compare_lm.md', 'w', encoding='utf-8') as file:
        file.write('\n'.join(table) + '\n')
    print(*faults, sep='\n')
    return 1 if faults else 0


sys.exit(main())
