"""What compare.sh found: a line for each case as it goes, compare.csv and compare.md."""
import csv
import os
import platform
import sys
from collections import Counter, defaultdict

import plan

COLUMNS = 'op shape dtype causal pass threads who way median_ms share_of_peak'.split()
NAMES = {'xtape': 'xtape', 'torch': 'PyTorch', 'jax': 'JAX', 'openblas': 'OpenBLAS',
         'libtorch': 'libtorch'}
absent = defaultdict(set)  # (who, reason): ways
slow = Counter()  # (who, way): cases
disagreements = []


def title(case):
    parts = [case.op, case.shape, case.dtype, 'causal' if case.causal else 'full',
             'forward+gradient' if case.gradient else 'forward', f'{case.threads} thread(s)']
    return ' '.join(parts)


def missing(who, way, reason):
    absent[who, str(reason)].add(way)


def disagreement(member, first, case, error):
    disagreements.append(f'{title(case)}: {member.who} {member.name} is {error:.1e} from '
                         f'{first.who} {first.name}')
    print('DIFFERS', disagreements[-1], file=sys.stderr)


def milliseconds(ms):
    return f'{ms:.3g}' if ms < 100 else f'{ms:.0f}'


def figure(ms, share):
    return milliseconds(ms) + (f' ({share:.0%})' if share else '')


def processor():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as lines:
            return next(line.split(':', 1)[1].strip() for line in lines if 'model name' in line)
    except (OSError, StopIteration):
        return platform.processor()


class Report:
    def __init__(self, args):
        self.out, self.about, self.notes = args.out, {}, []
        self.load = os.getloadavg()[0]
        self.cases, self.rounds = [], []  # (case, {(who, way): (ms, share or None)})

    def add(self, case, medians, rounds):
        peak = medians.get(('machine', 'fma'))  # ms for 10^9 flops
        flops = plan.flops(case)
        found = {}
        for (who, way), ms in medians.items():
            count = 1e9 if who == 'machine' else flops
            found[who, way] = ms, count / 1e9 * peak / ms if peak and count else None
        self.cases.append((case, found))
        self.rounds.append(rounds)
        text = ', '.join(f'{who} {way} {figure(*result)}'
                         for (who, way), result in sorted(found.items()) if who != 'machine')
        print(f'{title(case)}, {rounds} rounds, ms: {text}', flush=True)

    def write(self, seconds):
        os.makedirs(self.out, exist_ok=True)
        with open(f'{self.out}/compare.csv', 'w', newline='', encoding='utf-8') as file:
            rows = csv.writer(file, lineterminator='\n')
            rows.writerow(COLUMNS)
            for case, found in self.cases:
                for (who, way), (ms, share) in sorted(found.items()):
                    rows.writerow([case.op, case.shape, case.dtype, int(case.causal),
                                   'fg' if case.gradient else 'f', case.threads, who, way,
                                   f'{ms:.6g}', '' if share is None else f'{share:.4f}'])
        with open(f'{self.out}/compare.md', 'w', encoding='utf-8') as file:
            file.write('\n'.join(self.lines(seconds)) + '\n')

    def lines(self, seconds):
        yield '# xtape and its peers, in one run'
        yield ''
        peers = ', '.join(text for who, text in sorted(self.about.items()) if who != 'machine')
        yield (f'{processor()}, {self.about.get("machine", "no peak")}; {peers}; '
               f'glibc {platform.libc_ver()[1]}. '
               f'At least {min(self.rounds, default=0)} rounds a case, {seconds / 60:.1f} minutes; '
               f'load average {self.load:.1f} before.')
        yield ''
        yield ('Medians in ms; in brackets the share of the peak, measured in the same rounds, '
               'that the flops come to: an attention\'s are those of the fused op. Of a peer its '
               'fastest way, and how many times (x) as long that takes as the fastest of '
               'xtape\'s. "Tuned": with a glibc that keeps large buffers.')
        yield from self.peaks()
        groups = defaultdict(list)
        for case, found in self.cases:
            op = 'chains of 1000 recorded ops' if case.op in plan.CHAINS else case.op
            groups[op, case.dtype, case.threads].append((case, found))
        for (op, dtype, threads), cases in groups.items():
            yield ''
            yield f'## {op}, {dtype}, {threads} thread{"s" if threads > 1 else ""}'
            yield ''
            yield from table(cases)
        for text in self.notes:
            yield from ('', text)
        if slow:
            yield from ('', '## Left out', '', "Slower than their library's fastest in the first "
                        'rounds, by far, in so many cases: '
                        + ', '.join(f'{who} {way} {n}' for (who, way), n in sorted(slow.items()))
                        + '. `--all-ways` measures them too.')
        if disagreements:
            yield from ('', '## Results that differ', '', *[f'- {d}' for d in disagreements])
        if absent:
            yield from ('', '## Not measured', '')
            for (who, reason), ways in sorted(absent.items()):
                yield f'- {who} ({", ".join(sorted(ways))}): {reason}'

    def peaks(self):
        times = defaultdict(list)
        for case, found in self.cases:
            if ('machine', 'fma') in found:
                times[case.threads, case.dtype].append(found['machine', 'fma'][0])
        if times:
            yield ''
            yield 'Peak, GFLOP/s: ' + '; '.join(
                f'{dtype}, {threads} thread{"s" if threads > 1 else ""}: {1e3 / max(t):.0f} to '
                f'{1e3 / min(t):.0f}' for (threads, dtype), t in sorted(times.items())) + '.'


def best(found, who, tuned):
    ways = [(ms, way) for (w, way), (ms, _) in found.items()
            if w == who and way.endswith('+tuned') == tuned]
    return min(ways, default=None)


def table(cases):
    """One line a case: each of xtape's ways, then each peer as it comes and tuned."""
    keys = {key for _, found in cases for key in found}
    ours = sorted(way for who, way in keys if who == 'xtape')
    peers = sorted({(who, way.endswith('+tuned')) for who, way in keys
                    if who not in ('xtape', 'machine')}, key=lambda p: (list(NAMES).index(p[0]), p))
    head = ['shape', 'mask', 'pass'] + [f'xtape {way}' for way in ours]
    head += [NAMES[who] + ', tuned' * tuned for who, tuned in peers]
    yield '| ' + ' | '.join(head) + ' |'
    yield '|' + ' --- |' * len(head)
    for case, found in cases:
        chain = case.op[len('chain_'):] + ' ' if case.op in plan.CHAINS else ''
        row = [chain + case.shape.replace('x', ','), 'causal' if case.causal else '',
               'fg' if case.gradient else 'f']
        for way in ours:
            ms, share = found.get(('xtape', way), (None, None))
            row.append(figure(ms, share) if ms else '')
        base = best(found, 'xtape', False)
        for who, tuned in peers:
            fastest = best(found, who, tuned)
            if fastest is None:
                row.append('')
                continue
            ratio = f' {fastest[0] / base[0]:.2f}x' if base else ''
            row.append(f'{milliseconds(fastest[0])} {fastest[1].replace("+tuned", "")}{ratio}')
        yield '| ' + ' | '.join(row) + ' |'
