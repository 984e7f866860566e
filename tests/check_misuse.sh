#!/usr/bin/env bash
# Code that must not compile does not, while its neighbour, which differs in what is wrong only, does.
# The compiler is $CXX, with $CPPFLAGS.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

compile() {  # compile FLAG...: the body of a function from standard input
  {
    echo '#include <xtape/xtape.hpp>'
    echo 'using namespace xtape;'
    echo 'void f(Tensor<double> x, Tensor<float> y, Mask m, Index i, Tape<double> tape) {'
    cat
    echo '}'
  } | "${CXX:-c++}" ${CPPFLAGS-} "$@" -x c++ -std=c++17 -fsyntax-only -w -Iengine/include \
    -Iops/include -
}

failed=0
count=0
good=

refuses() {  # refuses WHAT WRONG RIGHT
  count=$((count + 1))
  good+="{ $3 }"$'\n'
  if compile <<<"$2" 2>/dev/null; then
    echo "$1 compiles: $2"
    failed=1
  fi
}

refuses 'a tensor from a shape alone' 'Tensor<double> a(Shape{2});' 'Tensor<double> a(Shape{2}, {1, 2});'
refuses 'a tensor of whole numbers' 'Tensor<int> a(1);' 'Tensor<float> a(1);'
refuses 'a tensor from a bool' 'Tensor<double> a = true;' 'Tensor<double> a = 1;'
refuses 'a tensor from a list of bools' 'Tensor<double> a{true, false};' 'Mask a{true, false};'
refuses 'a tensor plus a bool' 'x + true;' 'x + 1;'
refuses 'a mask from a number' 'Mask a = 1;' 'Mask a = true;'
refuses 'a mask from a list of numbers' 'Mask a{1, 0};' 'Mask a{true, false};'
refuses 'an index from a bool' 'Index a = true;' 'Index a = 1;'
refuses 'an index from a fraction' 'Index a = 2.7;' 'Index a = 2;'
refuses 'an index from a list of fractions' 'Index a{0.5};' 'Index a{0, 5};'
refuses 'a double tensor from a float one' 'Tensor<double> a = y;' 'Tensor<double> a = cast<double>(y);'
refuses 'float plus double' 'x + y;' 'x + cast<double>(y);'
refuses 'a float times a double matrix' 'matmul(x, y);' 'matmul(x, x);'
refuses 'a float variable on a double tape' 'tape.variable(y);' 'tape.variable(x);'
refuses 'a sum of masks' 'm + m;' 'm | m;'
refuses 'a product of masks' 'm * m;' 'm & m;'
refuses 'a mask times a tensor' 'm * x;' 'where(m, x, 0);'
refuses 'a tensor plus a mask' 'x + m;' 'where(m, x + 1, x);'
refuses 'a negative mask' '-m;' '!m;'
refuses 'comparing masks' 'm < m;' 'x < x;'
refuses 'summing a mask' 'sum(m);' 'sum(x);'
refuses 'a mask on a tape' 'tape.variable(m);' 'tape.variable(x);'
refuses 'an index times a number' 'i * 2;' 'x * 2;'
refuses 'a mask as a condition' 'if (x < 1) {}' 'if ((x < 1).item()) {}'
refuses 'a tensor as a number' 'double a = x;' 'double a = x.item();'
refuses 'a bool as the axis of a sum' 'sum(x, true);' 'sum(x, 1);'
refuses 'a list of bools as axes' 'sum(x, {true});' 'sum(x, {1});'
refuses 'a fraction as an axis' 'sum(x, 1.0);' 'sum(x, 1);'
refuses 'a bool as the axis of a softmax' 'softmax(x, true);' 'softmax(x, 1);'
refuses 'a bool as the axis of a slice' 'slice(x, false, 0, 1);' 'slice(x, 0, 0, 1);'
refuses 'a bool as the axis of a length' 'x.dim(true);' 'x.dim(1);'
refuses 'writing through a tensor' '*x.data() = 1;' 'double a = *x.data();'
refuses 'copying a tape' 'Tape<double> a = tape;' 'Tape<double> a = std::move(tape);'
refuses 'a gradient of no variable' 'tape.gradient(x);' 'tape.gradient(x, x);'
refuses 'a gradient of a tensor and a vector' 'tape.gradient(x, x, std::vector{x});' \
  'tape.gradient(x, std::vector{x, x});'
refuses 'a mask as a coefficient' \
  'differential_attention(x, x, x, x, x, m);' 'differential_attention(x, x, x, x, x, 0.5);'
refuses 'a number in place of visible keys' 'attention(x, x, x, 1);' 'attention(x, x, x, true);'

if ! compile <<<"$good"; then
  echo 'code that is right does not compile'
  failed=1
fi
echo "$count misuses checked with ${CXX:-c++}"
exit $failed
