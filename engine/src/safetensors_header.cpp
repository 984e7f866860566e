// The header of a safetensors file: the only source that includes nlohmann/json.
#include "safetensors_header.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "storage.hpp"

namespace xtape::detail {

namespace {

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

/// Hears what the parser reads, piece by piece: so nothing is nested deeper than the format is, and
/// no name that stands twice is lost.
class Listener {
 public:
  explicit Listener(Header& header) : header_(header) {}
  const std::string& fault() const { return fault_; }

  bool start_object(std::size_t) {
    if (place_ == Place::start) return enter(Place::tensors);
    if (place_ != Place::tensors) return unexpected("an object");
    if (key_ == kMetadata) return enter(Place::metadata);
    header_.entries.push_back({key_, {}, {}, 0, 0});
    offsets_ = 0;
    return enter(Place::tensor);
  }
  bool key(std::string& key) {
    std::set<std::string>& seen = place_ == Place::tensors ? names_ : keys_;
    if (!seen.insert(key).second) return wrong("has " + shown(key) + " twice in " + where() + ".");
    key_ = std::move(key);
    if (place_ == Place::tensor && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      return wrong("has " + shown(key_) + " in " + where() + ": it is not known there.");
    return true;
  }
  bool end_object() {
    if (place_ == Place::tensor && keys_.size() != 3)
      return wrong("lacks one of dtype, shape and data_offsets in " + where() + ".");
    keys_.clear();
    return enter(place_ == Place::tensors ? Place::end : Place::tensors);
  }

  bool start_array(std::size_t) {
    if (place_ == Place::tensor && key_ == "shape") return enter(Place::shape);
    if (place_ == Place::tensor && key_ == "data_offsets") return enter(Place::offsets);
    return unexpected("a list");
  }
  bool end_array() {
    if (place_ == Place::offsets && offsets_ != 2)
      return wrong("has not two data_offsets in " + where() + ".");
    return enter(Place::tensor);
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata)
      header_.metadata[key_] = std::move(text);
    else if (place_ == Place::tensor && key_ == "dtype")
      header_.entries.back().dtype = std::move(text);
    else
      return unexpected("a text");
    return true;
  }
  bool number_unsigned(std::uint64_t n) {
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return unexpected("a number above 2^63");
    Entry* entry = header_.entries.empty() ? nullptr : &header_.entries.back();
    if (place_ == Place::shape && entry->shape.size() == static_cast<std::size_t>(kMaxRank))
      return wrong("has more than " + std::to_string(kMaxRank) + " axes in " + where() + ".");
    if (place_ == Place::shape)
      entry->shape.push_back(static_cast<std::int64_t>(n));
    else if (place_ == Place::offsets && offsets_ < 2)
      (offsets_++ == 0 ? entry->begin : entry->end) = n;
    else
      return unexpected("a number");
    return true;
  }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) { return unexpected("a fraction"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool null() { return unexpected("null"); }
  bool binary(Json::binary_t&) { return unexpected("binary data"); }
  bool parse_error(std::size_t at, const std::string&, const Json::exception&) {
    return wrong("has a header that is not JSON from byte " + std::to_string(at) + " on.");
  }

 private:
  enum class Place { start, tensors, metadata, tensor, shape, offsets, end };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool wrong(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool unexpected(const char* what) {
    return wrong("has " + std::string(what) + " in " + where() + ", where none can be.");
  }
  std::string where() const {
    if (place_ == Place::start || place_ == Place::tensors) return "its header";
    return place_ == Place::metadata ? kMetadata : shown(header_.entries.back().name);
  }

  Header& header_;
  std::string fault_;
  Place place_ = Place::start;
  std::string key_;              // the last
  std::set<std::string> names_;  // of tensors
  std::set<std::string> keys_;   // of the object that is being read
  int offsets_ = 0;              // read so far
};

std::string quoted(const char* op, const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    fail(op, shown(text), ": names and metadata must be UTF-8.");
  }
}

}  // namespace

std::string parse_header(const std::string& text, Header& header) {
  if (text.empty() || text[0] != '{') return "has a header that does not begin with {.";
  // To the parser a zero byte is the end.
  if (text.find('\0') != std::string::npos) return "has a zero byte in its header.";
  Listener listener(header);
  Json::sax_parse(text, &listener);
  return listener.fault();
}

std::string header_text(const char* op, const Header& header) {
  std::string text = "{";
  const auto key = [&](const std::string& name) {
    if (text.back() != '{') text += ',';
    text += quoted(op, name) + ':';
  };
  if (!header.metadata.empty()) {
    key(kMetadata);
    text += '{';
    for (const auto& [name, value] : header.metadata) {
      key(name);
      text += quoted(op, value);
    }
    text += '}';
  }
  std::set<std::string> names{kMetadata};
  for (const Entry& entry : header.entries) {
    if (!names.insert(entry.name).second)
      fail(op, "a parameter named ", shown(entry.name), ": ",
           entry.name == kMetadata ? "that is the name of the metadata."
                                   : "each name may stand once.");
    key(entry.name);
    append(text, "{\"dtype\":\"" + entry.dtype + "\",\"shape\":");
    append(text, entry.shape);
    append(text, ",\"data_offsets\":");
    append(text,
           Shape{static_cast<std::int64_t>(entry.begin), static_cast<std::int64_t>(entry.end)});
    text += '}';
  }
  return text + '}';
}

std::string shown(const std::string& name) {
  constexpr std::size_t kLong = 80;
  const std::string start = name.size() > kLong ? name.substr(0, kLong) + "..." : name;
  return Json(start).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace xtape::detail
