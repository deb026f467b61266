#include "simulate/toml_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

namespace stator::simulate {
namespace {

// A number and what follows it, as in "1.5h"; nullopt if it does not begin with one.
std::optional<std::pair<double, std::string_view>> NumberAndUnit(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return std::pair{number, unit};
}

std::optional<double> ScaleOf(std::string_view unit,
                              std::initializer_list<std::pair<std::string_view, double>> units) {
  for (const auto& [name, scale] : units) {
    if (name == unit) return scale;
  }
  return std::nullopt;
}

std::optional<double> NumberOf(const toml::node& node) {
  if (const auto value = node.value<double>(); value && node.is_number()) return *value;
  return std::nullopt;
}

}  // namespace

void Errors::Add(const toml::source_region& where, std::string_view key, std::string_view what) {
  constexpr int kMost = 10;
  if (++count_ > kMost) return;
  text_ += fmt::format("{}{}:{}: {}{}{}", text_.empty() ? "" : "\n", file_, where.begin.line, key,
                       key.empty() ? "" : ": ", what);
}

std::optional<double> SecondsOf(const toml::node& node) {
  if (const std::optional<double> number = NumberOf(node))
    return *number >= 0 ? number : std::nullopt;
  const auto value = node.value<std::string_view>();
  if (!value || value->empty()) return std::nullopt;
  // "1h 30m" is the sum of its parts.
  double seconds = 0;
  for (std::string_view text = *value; !text.empty();) {
    const size_t unit = text.find_first_not_of("0123456789. ");
    if (unit == std::string_view::npos || unit == 0) return std::nullopt;
    const size_t next = std::min(text.find_first_of("0123456789 ", unit), text.size());
    const auto parts = NumberAndUnit(text.substr(0, next));
    if (!parts) return std::nullopt;
    const auto scale =
        ScaleOf(parts->second, {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}});
    if (!scale) return std::nullopt;
    seconds += parts->first * *scale;
    text.remove_prefix(next);
    if (!text.empty() && text[0] == ' ') {
      text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
    }
  }
  return seconds;
}

void Section::Finish() {
  for (const auto& [key, node] : table_) {
    if (!asked_.contains(key.str())) {
      errors_->Add(key.source(), fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key.str()),
                   "unknown key");
    }
  }
}

void Section::Fail(std::string_view key, std::string_view what) {
  const toml::node* node = key.empty() ? nullptr : table_.get(key);
  errors_->Add(node != nullptr ? node->source() : table_.source(),
               fmt::format("{}{}{}", path_, path_.empty() || key.empty() ? "" : ".", key), what);
}

const toml::node* Section::Node(std::string_view key) {
  asked_.emplace(key);
  return table_.get(key);
}

void Section::Number(std::string_view key, double* out, double least, double most) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  const std::optional<double> value = NumberOf(*node);
  if (!value) return Fail(key, "must be a number");
  if (!(*value >= least && *value <= most)) {
    return Fail(key, fmt::format("must be between {} and {}", least, most));
  }
  *out = *value;
}

void Section::Whole(std::string_view key, int64_t* out, int64_t least, int64_t most) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<int64_t>();
  if (!value) return Fail(key, "must be a whole number");
  if (*value < least || *value > most) {
    return Fail(key, fmt::format("must be between {} and {}", least, most));
  }
  *out = *value;
}

void Section::Flag(std::string_view key, bool* out) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<bool>();
  if (!value) return Fail(key, "must be true or false");
  *out = *value;
}

void Section::Text(std::string_view key, std::string* out) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<std::string>();
  if (!value) return Fail(key, "must be a text");
  *out = *value;
}

void Section::Seconds(std::string_view key, double* out, double least, double most) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  const std::optional<double> seconds = SecondsOf(*node);
  if (!seconds)
    return Fail(key, "must be a duration such as \"90s\", \"15m\", \"1h 30m\" or \"30d\"");
  if (!(*seconds >= least && *seconds <= most)) {
    return Fail(key, fmt::format("must be between {} and {} seconds", least, most));
  }
  *out = *seconds;
}

void Section::Bytes(std::string_view key, int64_t* out) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  std::optional<double> bytes = NumberOf(*node);
  if (const auto text = node->value_exact<std::string_view>()) {
    const auto parts = NumberAndUnit(*text);
    const auto scale = !parts ? std::nullopt
                              : ScaleOf(parts->second, {{"B", 1},
                                                        {"KB", 1024},
                                                        {"MB", 1048576},
                                                        {"GB", 1073741824},
                                                        {"TB", 1099511627776.0}});
    if (scale) bytes = parts->first * *scale;
  }
  if (!bytes || *bytes < 0 || *bytes > 1e15) {
    return Fail(key, "must be a size such as \"512B\", \"4KB\" or \"50GB\"");
  }
  *out = std::llround(*bytes);
}

void Section::Choice(std::string_view key, const std::vector<std::string_view>& names,
                     size_t* out) {
  const toml::node* node = Node(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<std::string_view>();
  for (size_t i = 0; value && i < names.size(); ++i) {
    if (names[i] == *value) {
      *out = i;
      return;
    }
  }
  Fail(key, fmt::format("must be one of \"{}\"", fmt::join(names, "\", \"")));
}

std::optional<Section> Section::Sub(std::string_view key) {
  const toml::node* node = Node(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_table()) {
    Fail(key, "must be a table");
    return std::nullopt;
  }
  return Section(*node->as_table(), fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key),
                 errors_);
}

std::vector<Section> Section::List(std::string_view key) {
  std::vector<Section> sections;
  const toml::node* node = Node(key);
  if (node == nullptr) return sections;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    Fail(key, "must be an array of tables");
    return sections;
  }
  for (const toml::node& element : *array) {
    if (!element.is_table()) {
      errors_->Add(element.source(), key, "must be a table");
      continue;
    }
    sections.emplace_back(*element.as_table(),
                          fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key), errors_);
  }
  return sections;
}

}  // namespace stator::simulate
