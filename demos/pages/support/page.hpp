// What the engines of pages share: a question in JSON, the answer in JSON, all numbers by xtape.
//
// In a browser the page asks them; elsewhere each is a program that answers standard input.
#pragma once

#include <nlohmann/json.hpp>
#include <xtape/xtape.hpp>

namespace page {

using Json = nlohmann::json;
using Matrix = xtape::Tensor<double>;

/// What this page says to a question. A page's source defines it; what it throws is told.
Json answer(const Json& question);

/// A number, or a text where JSON has none.
Json number(double x);

/// A tensor as heat.js draws it. [rows, columns], [columns] or []
Json picture(const Matrix& x);

}  // namespace page
