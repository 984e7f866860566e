"""Long-lived processes that time what they are asked to: one for each library and allocator."""
import hashlib
import os
import subprocess
import tempfile
import time

SIZES = {'mmap_threshold': 1 << 34, 'trim_threshold': 1 << 36, 'top_pad': 1 << 26, 'arena_max': 1}
TUNED = ':'.join(f'glibc.malloc.{name}={size}' for name, size in SIZES.items())
PAUSE = 0.05  # seconds in which idle threads of OpenMP's and of JAX's stop to wait busily
HERE = os.path.dirname(os.path.abspath(__file__))


class Refused(Exception):
    """A worker cannot do what it was asked, or is not there."""


def instruction_set():
    """A name for what this processor can do."""
    with open('/proc/cpuinfo', encoding='utf-8') as lines:
        flags = next((line for line in lines if line.startswith(('flags', 'Features'))), '')
    return hashlib.sha1(flags.encode()).hexdigest()[:8]


def environment(threads, tuned, cache):
    env = {name: value for name, value in os.environ.items()
           if name not in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE', 'GLIBC_TUNABLES')}
    env.update({f'{name}_NUM_THREADS': str(threads) for name in ('OMP', 'MKL', 'OPENBLAS')})
    env.update(OMP_PROC_BIND='close', OMP_PLACES='cores', JAX_PLATFORMS='cpu',
               TORCHINDUCTOR_COMPILE_THREADS='1',
               # What was compiled for another processor or number of threads does not fit.
               TORCHINDUCTOR_CACHE_DIR=f'{cache}/inductor-{instruction_set()}-{threads}')
    if tuned:
        env['GLIBC_TUNABLES'] = TUNED
    return env


class Worker:
    def __init__(self, command, threads, tuned, cache):
        self.errors = tempfile.TemporaryFile()
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            text=True, env=environment(threads, tuned, cache),
            preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.about = self.ask('about')

    def ask(self, line):
        try:
            self.process.stdin.write(line + '\n')
            self.process.stdin.flush()
            reply = self.process.stdout.readline().strip()
        except BrokenPipeError:
            reply = ''
        if not reply:
            self.errors.seek(0)
            last = self.errors.read().decode(errors='replace').strip().rpartition('\n')[2]
            raise Refused(f'its process ended ({self.process.wait()}) {last}'.strip())
        if reply.startswith('no '):
            raise Refused(reply[3:])
        return reply

    def time(self, line):
        """Asks when whoever was asked before leaves the cores alone."""
        time.sleep(PAUSE)
        return self.ask(line)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def commands(bin_dir, cache):
    """Who is measured, by which command; None for one that is not installed."""
    python = f'{cache}/venv/bin/python'

    def peer(name, module):
        found = os.path.exists(python) and subprocess.run(
            [python, '-c', f'import importlib.util as i; exit(not i.find_spec("{module}"))'],
            check=False).returncode == 0
        return [python, f'{HERE}/{name}_worker.py'] if found else None

    libtorch = f'{cache}/libtorch_worker'
    return {
        'machine': [f'{bin_dir}/compare_peak'],
        'xtape': [f'{bin_dir}/compare_xtape'],
        'torch': peer('torch', 'torch'),
        'jax': peer('jax', 'jax'),
        'openblas': peer('openblas', 'numpy'),
        'libtorch': [libtorch] if os.path.exists(libtorch) else None,
    }


class Workers:
    """Starts a worker when it is first needed."""

    def __init__(self, commands_, threads, cache):
        self.commands, self.threads, self.cache = commands_, threads, cache
        self.running, self.refused = {}, {}

    def get(self, who, tuned):
        key = who, tuned
        if key in self.refused:
            raise Refused(self.refused[key])
        if key not in self.running:
            try:
                if self.commands[who] is None:
                    raise Refused('not installed; compare.sh --install does')
                self.running[key] = Worker(self.commands[who], self.threads, tuned, self.cache)
            except Refused as reason:
                self.refused[key] = str(reason)
                raise
        return self.running[key]

    def lost(self, worker, reason):
        """A worker whose process ended is not asked again."""
        for key, other in list(self.running.items()):
            if other is worker and worker.process.poll() is not None:
                self.refused[key] = reason
                del self.running[key]

    def forget(self):
        for worker in self.running.values():
            worker.ask('forget')

    def stop(self):
        for worker in self.running.values():
            worker.stop()
