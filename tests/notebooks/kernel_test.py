"""What notebooks need of the kernel, each fact a test. JUPYTER_PATH has the kernel."""

import os
import sys
import time
import unittest
from pathlib import Path

import psutil
from jupyter_client.manager import start_new_kernel

sys.path.insert(0, str(Path(__file__).parents[2] / "demos/notebooks"))
import make

SETUP = """#include <xtape/load.hpp>
#include <xcpp/xdisplay.hpp>
#include <xtape/xtape.hpp>
#include <xtape/display.hpp>
#include <unistd.h>
using namespace xtape;
Tensor<double> x{{1, 2}, {3, 4}};"""

# What there is to display, in sizes of which a part is shown, and what its making needs before.
SHOWN_SETUP = """Random generator(1);
auto large = generator.normal<double>({2, 8, 256, 256});
Tape<double> tape(Keep::values);
auto head = tape.variable(generator.normal<double>({1, 2, 16, 4}), "q");
auto values = tape.variable(generator.normal<double>({1, 2, 16, 8}), "v");
auto loss = sum(square(differential_attention(head, head, 2 * head, head, values, 0.8)));
AttentionMap<double> map{softmax(generator.normal<double>({2, 16, 16}), causal_mask(16, 16)), "A", {}, {},
                         causal_mask(16, 16)};
Chart chart;
for (auto name : {"training", "validation"})
  chart.curves.push_back({name, generator.normal<double>({1000}).values(), {}});"""
SHOWN = {"tensor of 1 axis": "reshape(large, {1048576})", "of 2": "reshape(large, {1024, 1024})",
         "of 4": "large", "attention map": "map", "curves": "chart", "tape": "tape",
         "table": "tape_table(tape, loss)", "formula": 'Formula{"x = " + to_latex(x)}'}


class Kernel:
    def __init__(self, strict=True):
        environment = {**os.environ, "XTAPE_STRICT": "1" if strict else ""}
        self.manager, self.client = start_new_kernel(kernel_name="xcpp17", env=environment)

    def run(self, code, seconds=60):
        """(reply, outputs as (type, content, time)) of a cell."""
        start, outputs = time.monotonic(), []

        def keep(message):
            if message["msg_type"] not in ("status", "execute_input"):
                outputs.append((message["msg_type"], message["content"], time.monotonic() - start))

        reply = self.client.execute_interactive(code, timeout=seconds, output_hook=keep,
                                                store_history=True)
        return reply["content"], outputs

    def error(self, code):
        reply, outputs = self.run(code)
        assert reply["status"] == "error" and outputs[-1][0] == "error", (reply, outputs)
        return outputs[-1][1]

    def shown(self, code):
        """The one bundle that a cell shows."""
        reply, outputs = self.run(code)
        assert reply["status"] == "ok" and len(outputs) == 1, (reply, outputs)
        return outputs[0][0], outputs[0][1]["data"]

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


class AliveKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        reply, outputs = cls.kernel.run(SETUP)
        assert reply["status"] == "ok" and not outputs, (reply, outputs)

    @classmethod
    def tearDownClass(cls):
        cls.kernel.stop()

    def test_the_last_expression_without_a_semicolon_is_shown(self):
        kind, data = self.kernel.shown("x + 1")
        self.assertEqual(kind, "execute_result")
        self.assertEqual(data["text/plain"], "[[2, 3], [4, 5]]")
        self.assertTrue(data["image/svg+xml"].startswith("<svg"))
        self.assertEqual(self.kernel.shown("1 + 1  // two")[1], {"text/plain": "2"})
        self.assertEqual(self.kernel.shown('int u = 1;\nstd::string("; }")')[1]["text/plain"], '"; }"')

    def test_what_ends_with_a_semicolon_or_is_no_value_shows_nothing(self):
        for code in ("x;", "int v = 1;", "int w = 2", "(void)x", "// a comment", "", "#define Z 1"):
            reply, outputs = self.kernel.run(code)
            self.assertEqual((reply["status"], outputs), ("ok", []), code)

    def test_display_keeps_its_place_among_what_is_printed(self):
        _, outputs = self.kernel.run('std::cout << "a"; xcpp::display(x); std::cout << "ü\\n";')
        self.assertEqual([o[0] for o in outputs], ["stream", "display_data", "stream"])
        self.assertEqual([outputs[0][1]["text"], outputs[2][1]["text"]], ["a", "ü\n"])

    def test_a_display_may_be_replaced_by_its_id(self):
        _, outputs = self.kernel.run('xcpp::display(x, "one"); xcpp::display(x, "one", true);')
        self.assertEqual([(o[0], o[1]["transient"]["display_id"]) for o in outputs],
                         [("display_data", "one"), ("update_display_data", "one")])

    def test_output_arrives_while_a_cell_runs(self):
        _, outputs = self.kernel.run('std::cout << "a" << std::endl; sleep(2); std::cerr << "b\\n";')
        text = {name: "".join(o[1]["text"] for o in outputs if o[1]["name"] == name)
                for name in ("stdout", "stderr")}
        self.assertEqual(text, {"stdout": "a\n", "stderr": "b\n"})
        self.assertLess(outputs[0][2], 1.5)
        self.assertGreater(outputs[-1][2], 1.9)

    def test_a_compile_error_names_the_line_of_the_cell(self):
        error = self.kernel.error('int good = 1;\n\nint bad = "text";')
        self.assertRegex(error["traceback"][0], r"^cell \[\d+\]:3:5: error: cannot initialize")
        self.assertIn('int bad = "text";', error["traceback"][0])

    def test_an_unknown_name_is_named_with_its_line(self):
        for code in ("int n = 1;\nint m = n + nonsuch;", "int n2 = 1;\nauto m2 = nonsuch(n2);",
                     "\nnonsuch + 1"):
            error = self.kernel.error(code)
            self.assertRegex(error["traceback"][0], r"^cell \[\d+\]:2:\d+: error: use of undeclared")
            self.assertEqual(error["evalue"], "use of undeclared identifier 'nonsuch'")

    def test_an_exception_is_an_error_with_its_text_and_the_kernel_lives(self):
        error = self.kernel.error("auto t = matmul(x, Tensor<double>{1, 2, 3});")
        self.assertEqual(error["evalue"], "[matmul] cannot multiply a [2, 2] by b [3]: a's last axis "
                                          "must equal b's second to last.")
        self.assertIn("an array without a value", self.kernel.error("t.shape();")["evalue"])
        self.assertIn("no std::exception", self.kernel.error("throw 3;")["evalue"])
        self.assertEqual(self.kernel.shown("x.size()")[1]["text/plain"], "4")

    def test_a_name_cannot_be_defined_twice_when_the_kernel_is_strict(self):
        self.kernel.run("int once = 1;")
        self.assertIn("redefinition", self.kernel.error("int once = 2;")["evalue"])

    def test_names_are_completed(self):
        self.kernel.run("int my_own_name = 1;")
        for start, name in (("my_own", "my_own_name"), ("auto y = differential_att",
                                                        "differential_attention")):
            reply = self.kernel.client.complete(start, len(start), reply=True, timeout=30)["content"]
            self.assertIn(name, reply["matches"])
            self.assertEqual(start[:reply["cursor_start"]] + name, start[:start.rfind(" ") + 1] + name)


class Speed(unittest.TestCase):
    def test_the_first_cell_takes_at_most_a_second_and_each_display_half_of_one(self):
        kernel = Kernel()
        process = psutil.Process(kernel.manager.provisioner.pid)
        slow = []
        for name, code, limit in [("first cell", SETUP, 1), ("what is shown", SHOWN_SETUP, 1)] + [
                (name, f"xcpp::display({code});", 0.5) for name, code in SHOWN.items()]:
            start, used = time.monotonic(), sum(process.cpu_times()[:4])
            reply, _ = kernel.run(code)
            self.assertEqual(reply["status"], "ok", reply)
            # Processor time, with that of dot and gnuplot: others may use the machine too.
            used = sum(process.cpu_times()[:4]) - used
            print(f"\n{name}: {used:.2f} s of the processor, {time.monotonic() - start:.2f} s", end="")
            if used > limit:
                slow.append(name)
        kernel.stop()
        self.assertEqual(slow, [])


class StudentsKernel(unittest.TestCase):
    def test_a_corrected_cell_can_be_run_again(self):
        kernel = Kernel(strict=False)
        kernel.run("void check(double (*f)(double)) {\n  std::cout << f(1);\n}")
        for n in "12":
            kernel.run("double answer(double x) {\n  return x * " + n + ";\n}")
            _, outputs = kernel.run("check(answer);")
            self.assertEqual(outputs[0][1]["text"], n)
        for _ in range(2):
            self.assertEqual(kernel.run("auto number = 1;")[0]["status"], "ok")
        kernel.stop()


class EndingKernel(unittest.TestCase):
    def ends(self, code, words, interrupt=False):
        kernel = Kernel()
        kernel.client.execute(code)
        text, limit = "", time.monotonic() + 30
        while words not in text and time.monotonic() < limit:
            message = kernel.client.get_iopub_msg(timeout=30)
            text += message["content"].get("text", "")
            if interrupt and message["msg_type"] == "execute_input":
                time.sleep(1)
                kernel.manager.interrupt_kernel()
        self.assertIn(words, text)
        while kernel.manager.is_alive() and time.monotonic() < limit:
            time.sleep(0.1)
        self.assertFalse(kernel.manager.is_alive())
        kernel.stop()

    def test_an_interrupt_ends_the_process_with_a_message(self):
        self.ends("for (volatile int i = 0;;) i = 1;", "Interrupted: the kernel ends and starts again", interrupt=True)

    def test_a_crash_ends_the_process_with_a_message(self):
        self.ends("*static_cast<volatile int*>(nullptr) = 1;", "The cell crashed")

    def test_an_overflowing_stack_ends_the_process_with_a_message(self):
        self.ends("struct Deep {\n  int f(int n) {\n    volatile char room[1000];\n    room[n % 1000] = 1;\n"
                  "    return f(n + 1) + room[n % 1000];\n  }\n};\nDeep().f(0);", "The cell crashed")


class Mistakes(unittest.TestCase):
    def test_a_notebook_with_a_mistake_fails(self):
        from nbclient.exceptions import CellExecutionError
        book = make.notebook("01_autodiff")
        del book.cells[6:]
        make.run(book)
        book.cells[5].source = 'int mistake = "text";'
        with self.assertRaises(CellExecutionError):
            make.run(book)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
