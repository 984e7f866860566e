"""A Jupyter kernel for C++ by Cling, as PyPI's cppyy brings it: the rules of xeus-cling, no conda.

Cells go to Cling's prompt as they are. Whatever they write is read from the process's own standard
output and error, by threads, while they run. The environment: XTAPE_INCLUDE and XTAPE_LIBRARIES are
folders, separated by colons; XTAPE_STRICT refuses to define a name twice, as xeus-cling does.
"""

import codecs
import ctypes
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("EXTRA_CLING_ARGS", "-O1")
import cppyy
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

HERE = Path(__file__).parent
END = "\x04"  # marks the end of a cell in both streams
# From such a line on, standard error explains why a cell failed.
DIAGNOSTIC = re.compile(r"^(cell \[\d*\]|input_line_\d+):\d|^compilation failed|^\[runStatic", re.M)
# Comments, texts and characters, which have no say in where a statement ends.
QUIET = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
DECLARATION = re.compile(r"\s*(?:const\s+)?[A-Za-z_][\w:]*(?:<.*>)?[&*]*\s+\w+\s*(?:=(?!=)|\{|\()", re.S)


def quiet(code):
    """The code with comments blank and texts struck out, each sign in its place."""
    return QUIET.sub(
        lambda m: re.sub(r"[^\n]", " " if m.group()[0] == "/" else "_", m.group()), code)


def last_shown(code):
    """The cell with its last expression, if it ends without a semicolon, given to show."""
    masked = quiet(code)
    end = len(masked.rstrip())
    if end == 0 or masked[end - 1] in ";}" or masked[:end].rsplit("\n", 1)[-1].startswith("#"):
        return code
    depth, start = 0, 0
    for i, c in enumerate(masked[:end]):
        depth += (c in "({[") - (c in ")}]")
        if depth == 0 and (c in ";}" or c == "\n" and masked[start:i].strip().startswith("#")):
            start = i + 1
    if DECLARATION.match(masked, start):
        return code[:end] + ";" + code[end:]
    start += len(masked[start:end]) - len(masked[start:end].lstrip())
    shown = f"xcpp::detail::show(({code[start:end]}, xcpp::detail::Nothing()));"
    return code[:start] + shown + code[end:]


class Stream(threading.Thread):
    """Reads one of the process's streams and hands on each text and each end of a cell."""

    def __init__(self, fd, receive):
        super().__init__(daemon=True)
        self.fd, self.receive, self.ended = fd, receive, threading.Event()
        self.pipe, write = os.pipe()
        os.dup2(write, fd)
        os.close(write)
        self.start()

    def run(self):
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        text = ""
        while data := os.read(self.pipe, 65536):
            text = self.receive(text + decode(data))
            time.sleep(0.01)  # what is written in pieces comes together
            if END in text:
                text = self.receive(text.replace(END, ""), True)
                self.ended.set()

    def finish(self):
        os.write(self.fd, END.encode())
        self.ended.wait()
        self.ended.clear()


class ClingKernel(Kernel):
    implementation, implementation_version = "xcpp17", "1"
    language, language_version = "c++", "17"
    language_info = {"name": "C++", "mimetype": "text/x-c++src", "file_extension": ".cpp",
                     "codemirror_mode": "text/x-c++src", "version": "17"}
    banner = "C++ by Cling"

    def __init__(self, **options):
        super().__init__(**options)
        self.cling = cppyy.gbl.gInterpreter
        self.cling.ProcessLine.__release_gil__ = True
        includes = [HERE / "include", *os.environ.get("XTAPE_INCLUDE", "").split(":")]
        libraries = os.environ.get("XTAPE_LIBRARIES", "").split(":")
        self.words = set()
        for folder in filter(None, map(str, includes)):
            self.process(f'#pragma cling add_include_path("{folder}")')
            for header in Path(folder).rglob("xtape/**/*.hpp"):
                self.learn(header.read_text())
        for folder in filter(None, libraries):
            self.process(f'#pragma cling add_library_path("{folder}")')
        if not self.process(f'#include "{HERE / "start.hpp"}"'):
            sys.exit("the kernel's own declarations do not compile")
        if os.environ.get("XTAPE_STRICT"):
            self.process("cling::runtime::gClingOpts->AllowRedefinition = 0;")
        self.silent = False
        self.diagnosis = ""
        self.out, self.err = Stream(1, self.printed), Stream(2, self.complained)

    def process(self, code):
        error = ctypes.c_int(0)
        self.cling.ProcessLine(code, ctypes.pointer(error))
        return error.value == 0

    def learn(self, text):
        self.words.update(re.findall(r"[A-Za-z]\w{2,}", quiet(text)))

    def send(self, kind, **content):
        if not self.silent:
            self.send_response(self.iopub_socket, kind, content)

    def printed(self, text, ended=False):
        """Sends what stands before, in and between displays; returns what is not complete yet."""
        while (start := text.find("\x02")) >= 0:
            if start > 0:
                self.send("stream", name="stdout", text=text[:start])
            body, closed, rest = text[start + 1:].partition("\x03")
            if not closed:
                return text[start:]
            self.shown(*body.split("\x1d", 1))
            text = rest
        ready, mark, _ = text.partition(END)
        if ready:
            self.send("stream", name="stdout", text=ready)
        return mark

    def shown(self, kind, bundle):
        if bundle.startswith("{"):
            data = json.loads(bundle)
        else:
            data = dict(item.split("\x1f", 1) for item in bundle.split("\x1e")[:-1])
            for mime in data:
                data[mime] = json.loads(data[mime]) if "json" in mime else data[mime]
        content = {"data": data, "metadata": {}}
        if kind == "result":
            self.send("execute_result", execution_count=self.execution_count, **content)
            return
        kind, _, name = kind.partition(":")
        self.send("update_display_data" if kind == "update" else "display_data",
                  transient={"display_id": name} if name else {}, **content)

    def complained(self, text, ended=False):
        """Sends standard error by lines, and keeps what explains a failure."""
        end = len(text) if ended or END in text else text.rfind("\n") + 1
        ready, rest = text[:end].replace(END, ""), text[end:] + END * text[:end].count(END)
        found = DIAGNOSTIC.search(ready)
        at = 0 if self.diagnosis else found.start() if found else len(ready)
        self.diagnosis += ready[at:]
        if at > 0:
            self.send("stream", name="stderr", text=ready[:at])
        return rest

    async def do_execute(self, code, silent, store_history=True, user_expressions=None,
                         allow_stdin=False, **_):
        self.silent, self.diagnosis = silent, ""
        name = f"cell [{self.execution_count}]"
        self.learn(code)
        cppyy.gbl.xcpp.detail.guard()
        done = self.process(f'#line 1 "{name}"\n{last_shown(code)}\n')
        cppyy.gbl.xcpp.detail.flush()
        self.out.finish()
        self.err.finish()
        if done:
            if self.diagnosis:  # a warning
                self.send("stream", name="stderr", text=self.diagnosis)
            return {"status": "ok", "execution_count": self.execution_count, "payload": [],
                    "user_expressions": {}}
        error = explained(self.diagnosis.strip(), code, name)
        self.send("error", **error)
        return {"status": "error", "execution_count": self.execution_count, **error}

    async def do_complete(self, code, cursor_pos):
        start = re.search(r"\w*$", code[:cursor_pos]).start()
        known = sorted(w for w in self.words if w.startswith(code[start:cursor_pos]))
        return {"status": "ok", "matches": known[:200], "cursor_start": start,
                "cursor_end": cursor_pos, "metadata": {}}


def explained(text, code, name):
    """What went wrong, as a Jupyter error."""
    thrown = re.search(r"^compilation failed(?:: (.*)| with unknown error)", text, re.S | re.M)
    if thrown:
        what = (thrown.group(1) or "an exception that is no std::exception").strip()
        return {"ename": "exception", "evalue": what, "traceback": ["exception: " + what]}
    # Cling may try to find an unknown name as late as when the cell runs: its place is lost.
    unknown = (re.search(r"undeclared identifier '(\w+)'", text)
               or "Syntax error" in text
               and re.search(r"dependent type>' lvalue Var \S+ '(\w+)'", text))
    place = unknown and re.search(rf"\b{unknown.group(1)}\b", quiet(code))
    if place and ("input_line_" in text or "Syntax error" in text):
        line = code.count("\n", 0, place.start())
        column = place.start() - (code.rfind("\n", 0, place.start()) + 1)
        text = (f"{name}:{line + 1}:{column + 1}: error: use of undeclared identifier "
                f"'{unknown.group(1)}'\n{code.splitlines()[line]}\n{' ' * column}^")
    first = re.search(r"error: (.*)", text)
    return {"ename": "error", "evalue": first.group(1) if first else text or "the cell failed",
            "traceback": [text or "the cell failed"]}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=ClingKernel, capture_fd_output=False)
