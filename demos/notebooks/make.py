"""Makes the notebooks from their sources and runs them.

    make.py                  writes every NAME.ipynb beside this file, with its outputs; it needs
                             the kernel, so call it by tests/check_notebooks.sh --fix
    make.py --test NAME      runs one, with the wrong answers of its source, and checks what it prints
    make.py --cells NAME D   writes its cells as D/1.cpp, D/2.cpp, ..., for other interpreters

A source is Markdown. A fence ```cpp is a cell; a word after it tells of which kind: `check` (closed),
`exercise`, `solution` (closed) and `wrong`, a wrong answer, which only the test runs.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
FENCE = re.compile(r"^```cpp *(\w*)\n(.*?)^```\n", re.S | re.M)
KERNEL = {"name": "xcpp17", "display_name": "C++17", "language": "C++17"}


def cells(source):
    """(kind, text) of every cell: kind is `markdown`, `code` or the word after the fence."""
    at = 0
    for fence in FENCE.finditer(source):
        if text := source[at:fence.start()].strip():
            yield "markdown", text
        yield fence.group(1) or "code", fence.group(2).rstrip()
        at = fence.end()
    if text := source[at:].strip():
        yield "markdown", text


def notebook(name, test=False):
    import nbformat.v4 as v4
    made = []
    for kind, text in cells((HERE / "source" / f"{name}.md").read_text()):
        if kind == "wrong" and not test:
            continue
        cell = v4.new_markdown_cell(text) if kind == "markdown" else v4.new_code_cell(text)
        cell.id = f"cell-{len(made) + 1}"
        if kind not in ("markdown", "code"):
            cell.metadata["tags"] = [kind]
        if kind in ("check", "solution"):
            cell.metadata["jupyter"] = {"source_hidden": True}
        made.append(cell)
    return v4.new_notebook(cells=made, metadata={
        "kernelspec": KERNEL, "language_info": {"name": "C++", "file_extension": ".cpp"}})


def run(book):
    """Executes a notebook in place; raises at a cell that fails."""
    from nbclient import NotebookClient
    NotebookClient(book, timeout=120, record_timing=True, coalesce_streams=True,
                   resources={"metadata": {"path": str(HERE)}},
                   kernel_name=KERNEL["name"]).execute()
    return book


def printed(cell):
    return "".join(o.get("text", "") for o in cell.get("outputs", []) if o.output_type == "stream")


def seconds(cell):
    from datetime import datetime
    times = cell.metadata["execution"]
    start, end = (datetime.fromisoformat(times[k].replace("Z", "+00:00")) for k in (
        "iopub.execute_input", "shell.execute_reply"))
    return (end - start).total_seconds()


def test(name):
    """What is wrong with a notebook, as texts."""
    import nbformat
    saved = nbformat.read(HERE / f"{name}.ipynb", 4)
    if [c.source for c in saved.cells] != [c.source for c in notebook(name).cells]:
        yield "the saved notebook is not that of its source: run tests/check_notebooks.sh --fix"
    if any(o.output_type == "error" for c in saved.cells for o in c.get("outputs", [])):
        yield "the saved notebook shows an error"
    book = run(notebook(name, test=True))
    answers = {"exercise": 0, "solution": 0, "wrong": 0}
    kind = None
    for cell in book.cells:
        tags = cell.metadata.get("tags", [])
        kind = tags[0] if tags else kind
        if cell.source.startswith("check::"):
            start = "right: " if kind == "solution" else "not yet: "
            if not printed(cell).startswith(start) or printed(cell).count("\n") != 1:
                yield f"{cell.source}\n  ({kind}) prints {printed(cell)!r}, not one line {start!r}"
            answers[kind] += 1
    if set(answers.values()) != {3}:
        yield f"three exercises with a solution and a wrong answer are required, not {answers}"
    timed = [(seconds(c), c.source.splitlines()[0]) for c in book.cells if c.cell_type == "code"]
    print(f"{name}: {len(timed)} cells in {sum(t for t, _ in timed):.1f} s, of which the two first "
          f"{timed[0][0] + timed[1][0]:.2f} s, the slowest {max(timed)[0]:.2f} s: {max(timed)[1]}")


def write_cells(name, folder):
    codes = [text for kind, text in cells((HERE / "source" / f"{name}.md").read_text())
             if kind not in ("markdown", "wrong")]
    for number, code in enumerate(codes, 1):
        Path(folder, f"{number}.cpp").write_text(code + "\n")


def main(arguments):
    names = sorted(p.stem for p in (HERE / "source").glob("*.md"))
    if arguments[:1] == ["--test"]:
        problems = list(test(arguments[1]))
        sys.exit("\n".join([f"{arguments[1]}: {p}" for p in problems]) if problems else 0)
    if arguments[:1] == ["--cells"]:
        return write_cells(*arguments[1:])
    import nbformat
    for name in names:
        book = run(notebook(name))
        for cell in book.cells:
            cell.metadata.pop("execution", None)  # times differ from run to run
        nbformat.write(book, HERE / f"{name}.ipynb")
        print(f"{name}.ipynb: {(HERE / f'{name}.ipynb').stat().st_size // 1024} KB")


if __name__ == "__main__":
    main(sys.argv[1:])
