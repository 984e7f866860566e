"""compare.sh's driver: asks every worker in turn for one timing, round after round."""
import argparse
import os
import random
import statistics
import sys
import tempfile
import time

import numpy

import plan
import report
from workers import Refused, Workers, commands

BARS = {'f32': 2e-5, 'f64': 1e-12}  # of max |difference| over max |reference|
# Where a round takes LONG seconds, those of a peer's ways that are SLOW times as slow as its
# fastest are left out after TRIAL rounds.
LONG, TRIAL, SLOW = 0.5, 2, 1.3


def arguments():
    parser = argparse.ArgumentParser(
        prog='compare.sh', allow_abbrev=False,
        description='xtape and its peers in one run, interleaved; --install brings the peers')
    names = list(plan.WAYS['differential_attention']) + ['openblas', 'libtorch']

    def known(words, choices):
        for word in words:
            if word not in choices:
                raise argparse.ArgumentTypeError(
                    f"there is no '{word}'; there are: {' '.join(dict.fromkeys(choices))}")
        return words

    def some(choices):
        return lambda text: known(text.split(','), choices)

    def shapes(text):
        return known(text.replace(',', 'x').split(), sum(map(plan.shapes, plan.OPS), []))

    def count(text):
        if not text.isdigit() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 up")
        return int(text)

    def threads(text):
        cores = len(os.sched_getaffinity(0))
        numbers = [count(word) for word in text.split(',')]
        if max(numbers) > cores:
            raise argparse.ArgumentTypeError(f'there are {cores} cores for {max(numbers)} threads')
        return numbers

    parser.add_argument('--op', type=some(plan.OPS), metavar='OP,...',
                        default=[op for op in plan.OPS if op != 'attention'])
    parser.add_argument('--shapes', type=shapes, metavar="'SHAPE SHAPE...'",
                        help='such as 1,4,64,32; those of all ops unless given')
    parser.add_argument('--dtype', type=some(['f32', 'f64']), default=['f32', 'f64'])
    parser.add_argument('--pass', type=some(['f', 'fg']), default=['f', 'fg'], dest='passes')
    parser.add_argument('--threads', type=threads, default=None, metavar='N,...',
                        help='1,2 unless given')
    parser.add_argument('--who', type=some(names), default=names, metavar='WHO,...')
    parser.add_argument('--rounds', type=count, default=9, help='at least (9); more in short cases')
    parser.add_argument('--all-ways', action='store_true',
                        help='where they take long, also those that are '
                        f'{SLOW} times as slow as the fastest of the same peer')
    parser.add_argument('--check-only', action='store_true', help=argparse.SUPPRESS)
    for name in 'bin', 'cache', 'out':
        parser.add_argument(f'--{name}', required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.threads = args.threads or [n for n in (1, 2) if n <= len(os.sched_getaffinity(0))]
    return args


class Member:
    """One way of one library of doing a case."""

    def __init__(self, worker, who, way, tuned, number):
        self.worker, self.who, self.way = worker, who, way
        self.name, self.kind = way + '+tuned' * tuned, (who, tuned)
        self.number, self.times = number, []

    def prepare(self, case, folder):
        op = case.op if self.who != 'machine' else 'peak'
        self.worker.ask(f'prepare {self.number} {op} {case.shape} {case.dtype} '
                        f'{int(case.causal)} {"fg" if case.gradient else "f"} {self.way} {folder}')

    def time(self):
        self.times.append(float(self.worker.time(f'time {self.number}')))


def results(folder):
    return [numpy.load(f'{folder}/{i}.npy') for i in range(len(os.listdir(folder)))]


def error(result, reference):
    """Of the worst array. A coefficient's gradient is a sum over as many terms as the result, y,
    has values, each about 3/4, and may cancel."""
    y = reference[0]
    worst = 0.0
    for a, b in zip(result, reference, strict=True):
        scale = 0.75 * y.size if b.ndim == 0 and y.ndim else numpy.abs(b).max()
        worst = max(worst, float(numpy.abs(a.astype('f8') - b.astype('f8')).max() / scale))
    return worst


def members(case, workers, args):
    found = [('machine', 'fma', False)]
    for who, names in plan.ways(case).items():
        if who in args.who:
            tuned = (False, True) if plan.is_tuned(case.op) and who != 'xtape' else (False,)
            found += [(who, way, t) for t in tuned for way in names]
    for number, (who, way, tuned) in enumerate(found):
        try:
            yield Member(workers.get(who, tuned), who, way, tuned, number)
        except Refused as reason:
            report.missing(who, way + '+tuned' * tuned, reason)


def prepared(case, workers, args):
    """The members that can do the case; reports whose results differ from the first's."""
    ready, reference, first = [], None, None
    for member in members(case, workers, args):
        with tempfile.TemporaryDirectory() as folder:
            try:
                member.prepare(case, folder)
            except Refused as reason:
                workers.lost(member.worker, str(reason))
                report.missing(member.who, member.name, reason)
                continue
            result = results(folder)
        ready.append(member)
        if result and reference is None:
            reference, first = result, member
        elif result:
            off = error(result, reference)
            if not off <= BARS[case.dtype]:
                report.disagreement(member, first, case, off)
    return ready


def fast_enough(ready):
    """Without the ways that are no candidates for their library's fastest."""
    fastest = {}
    for m in ready:
        fastest[m.kind] = min(min(m.times), fastest.get(m.kind, numpy.inf))
    kept = []
    for m in ready:
        if m.who == 'xtape' or min(m.times) <= SLOW * fastest[m.kind]:
            kept.append(m)
        else:
            report.slow[m.who, m.name] += 1
    return kept


def measure(case, workers, args):
    ready = prepared(case, workers, args)
    start, done = time.monotonic(), 0
    while done < args.rounds or (done < 2 * args.rounds and time.monotonic() - start < 1):
        random.shuffle(ready)  # or each would always find the caches as the same other left them
        for member in list(ready):
            try:
                member.time()
            except Refused as reason:
                workers.lost(member.worker, str(reason))
                report.missing(member.who, member.name, reason)
                ready.remove(member)
        done += 1
        if done == TRIAL and not args.all_ways and time.monotonic() - start > TRIAL * LONG:
            ready = fast_enough(ready)
    workers.forget()
    medians = {(m.who, m.name): statistics.median(m.times) for m in ready}
    return medians, done


def main():
    args = arguments()
    if args.check_only:
        return 0
    random.seed(1)
    start = time.monotonic()
    log = report.Report(args)
    try:
        for threads in args.threads:
            workers = Workers(commands(args.bin, args.cache), threads, args.cache)
            for case in plan.cases(args.op, args.shapes, args.dtype, threads):
                if ('fg' if case.gradient else 'f') not in args.passes:
                    continue
                log.add(case, *measure(case, workers, args))
                log.about.update({who: w.about for (who, _), w in workers.running.items()})
                log.write(time.monotonic() - start)  # nothing is lost where it is stopped
            workers.stop()
    except KeyboardInterrupt:
        log.notes.append('Interrupted: the rest was not measured.')
        log.write(time.monotonic() - start)
    return 1 if report.disagreements else 0


sys.exit(main())
