// A tape as a page: what it recorded and what a sweep passes on, as JSON in HTML.
#include <xtape/trace.hpp>

#include <limits>
#include <map>
#include <sstream>

#include "grid.hpp"
#include "picture.hpp"
#include "state.hpp"
#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::int64_t kMostBytes = 10'000'000;

// The page without its data, written from engine/src/page when xtape is configured.
constexpr unsigned char kPage[] = {
#include "trace_page.inc"
};

/// How many bytes the page's data may have: an upper bound.
template <class T>
std::int64_t bytes_needed(const Tape<T>& tape, std::int64_t side) {
  constexpr std::int64_t number = std::numeric_limits<T>::max_digits10 + 8;  // -1.2e-308,
  constexpr std::int64_t line_bytes = 300, picture_bytes = 120 + 2 * number;
  const auto picture_needs = [&](const Shape& shape) {
    const Grid grid(shape, kMostSlices, side);
    return picture_bytes + 40 * static_cast<std::int64_t>(shape.size()) +
           number * grid.slices.count * grid.rows.count * grid.columns.count;
  };
  std::int64_t total = sizeof kPage;
  for (std::int64_t at = 0; at < tape.size(); ++at) {
    const Node<T> node = tape.node(at);
    const std::size_t letters = node.op.size() + node.label.size() + node.attributes.size();
    total += line_bytes + 6 * static_cast<std::int64_t>(letters) + 2 * picture_needs(node.shape);
    for (const Operand<T>& input : node.inputs)
      total += 40 + (input.line < 0 ? 0 : picture_needs(tape.node(input.line).shape));
  }
  return total;
}

/// The most values a side with which the page is small enough.
template <class T>
std::int64_t side_for(const Tape<T>& tape) {
  for (std::int64_t side = kMostSide; side > 0; side /= 2)
    if (bytes_needed(tape, side) <= kMostBytes) return side;
  fail("trace", "a tape of ", tape.size(), " lines: they must fit on a page of at most ",
       kMostBytes / 1'000'000, " MB.");
}

/// What a line's value occupies, and where it stands for the first time.
template <class T>
class Storage {
 public:
  struct Share {
    std::int64_t line, bytes;
  };
  Share add(const Tensor<T>& x, std::int64_t line) {
    const Body<T>& body = *x.raw();
    const Body<T>& whole = body.owner ? *body.owner : body;
    const auto [found, is_new] = first_.emplace(&whole, line);
    const std::int64_t bytes = is_new ? whole.size * static_cast<std::int64_t>(sizeof(T)) : 0;
    total_ += bytes;
    return {found->second, bytes};
  }
  std::int64_t total() const { return total_; }

 private:
  std::map<const void*, std::int64_t> first_;
  std::int64_t total_ = 0;
};

template <class T>
Json<T> operand(const Operand<T>& input) {
  if (input.line >= 0) return input.line;
  if (!input.constant.has_value()) return nullptr;
  std::ostringstream text;
  text << input.constant.item();
  return text.str();
}

/// Ops that write infinities on purpose do not mark a fault.
template <class T>
bool is_fault(const Json<T>& picture, const std::string& op) {
  return picture.contains("bad") && !(op == "mask" && picture["bad"]["what"] == "-inf");
}

template <class T>
class Tracer {
 public:
  explicit Tracer(Tape<T>& tape) : tape_(tape), side_(side_for(tape)) {}

  Json<T> run(In<T> target) {
    const std::int64_t line = tape_.line(target);
    if (target.size() != 1)
      fail("trace", "target ", dtype<T>(), target.shape(), " has ", target.size(),
           " elements: one is required.");
    for (std::int64_t at = 0; at < tape_.size(); ++at) lines_.push_back(describe(at));
    sweep(target);
    drop_lone_paths();
    return {{"dtype", dtype<T>()},
            {"target", line},
            {"bytes", storage_.total()},
            {"faults", {{"forward", forward_fault_}, {"backward", backward_fault_}}},
            {"lines", std::move(lines_)}};
  }

 private:
  Json<T> describe(std::int64_t at) {
    const Node<T> node = tape_.node(at);
    Json<T> line{{"op", node.op}, {"shape", node.shape}, {"outputs", node.outputs}};
    line["inputs"] = Json<T>::array();
    for (const Operand<T>& input : node.inputs) line["inputs"].push_back(operand(input));
    if (!node.label.empty()) line["label"] = node.label;
    if (!node.attributes.empty()) line["attributes"] = node.attributes;
    if (node.value.has_value()) {
      const auto share = storage_.add(node.value, at);
      line["bytes"] = share.bytes;
      line["storage"] = share.line;
      line["value"] = picture(node.value, side_);
      if (forward_fault_.is_null() && is_fault(line["value"], node.op)) forward_fault_ = at;
    }
    return line;
  }

  /// The cotangents of all that the target depends on: those of all variables are asked for.
  void sweep(In<T> target) {
    std::vector<Tensor<T>> variables;
    for (std::int64_t at = 0; at < tape_.size(); ++at)
      if (lines_[static_cast<std::size_t>(at)]["inputs"].empty())
        variables.push_back(standing_on(target, at));
    tape_.gradient(target, variables, Sweep<T>(Record::no, [this](auto... seen) { see(seen...); }));
  }

  /// A tensor that stands on a line of target's tape.
  Tensor<T> standing_on(In<T> target, std::int64_t at) const {
    TapeState<T>* state = find(target).state;
    Tensor<T> x = alias(Tensor<T>::zeros(tape_.node(at).shape));
    x.raw()->place = {state, state->epoch.load(std::memory_order_relaxed), at};
    return x;
  }

  void see(std::int64_t at, In<T> cotangent, const std::vector<Contribution<T>>& passed) {
    Json<T>& line = lines_[static_cast<std::size_t>(at)];
    line["gradient"] = picture(cotangent, side_);
    if (backward_fault_.is_null() && is_fault(line["gradient"], "")) backward_fault_ = at;
    line["passed"] = Json<T>::array();
    for (const Contribution<T>& part : passed) {
      line["passed"].push_back({{"to", part.line}, {"cotangent", picture(part.cotangent, side_)}});
      ++paths_[part.line];
    }
  }

  /// Where one path leads to a line, what it passes is that line's cotangent.
  void drop_lone_paths() {
    for (Json<T>& line : lines_)
      if (line.contains("passed"))
        for (Json<T>& part : line["passed"])
          if (paths_[part["to"].template get<std::int64_t>()] == 1) part.erase("cotangent");
  }

  Tape<T>& tape_;
  std::int64_t side_;
  std::vector<Json<T>> lines_;
  std::map<std::int64_t, int> paths_;
  Storage<T> storage_;
  Json<T> forward_fault_, backward_fault_;  // lines, or null
};

std::string escape_html(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<' || c == '&')
      result += "&#" + std::to_string(static_cast<int>(c)) + ";";
    else
      result += c;
  }
  return result;
}

/// ASCII only, and nothing that HTML would take for a tag.
template <class T>
std::string script_text(const Json<T>& json) {
  const std::string text = json.dump(-1, ' ', true, Json<T>::error_handler_t::replace);
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

}  // namespace

template <class T>
std::string trace(Tape<T>& tape, In<T> target, const std::string& title) {
  const Json<T> data = Tracer<T>(tape).run(target);
  const std::map<std::string, std::string> parts{{"{{title}}", escape_html(title)},
                                                 {"{{tape}}", script_text(data)}};
  const std::string page(std::begin(kPage), std::end(kPage));
  std::string result;
  std::size_t at = 0;
  for (std::size_t mark; (mark = page.find("{{", at)) != std::string::npos;) {
    const std::size_t end = page.find("}}", mark) + 2;
    result += page.substr(at, mark - at) + parts.at(page.substr(mark, end - mark));
    at = end;
  }
  return result + page.substr(at);
}

template std::string trace(Tape<float>&, In<float>, const std::string&);
template std::string trace(Tape<double>&, In<double>, const std::string&);

}  // namespace xtape
