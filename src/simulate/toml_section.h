// One table of a TOML document, read member by member. Checks types and ranges, reports the place
// of an error, and refuses unknown members. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Errors as results, not exceptions.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/result.h"

namespace stator::simulate {

// Reads go on after an error, with defaults. The first ten errors are kept, a line each.
class Errors {
 public:
  explicit Errors(std::string file) : file_(std::move(file)) {}
  void Add(const toml::source_region& where, std::string_view key, std::string_view what);
  Status status() const { return text_.empty() ? OkStatus() : Status(ValidationError(text_)); }

 private:
  std::string file_;
  std::string text_;
  int count_ = 0;
};

class Section {
 public:
  // `path` is how messages call the table, for example "table.index".
  Section(const toml::table& table, std::string path, Errors* errors)
      : table_(table), path_(std::move(path)), errors_(errors) {}
  // Complains about members that were not asked for.
  void Finish();

  bool Has(std::string_view key) const { return table_.contains(key); }
  void Fail(std::string_view key, std::string_view what);

  void Number(std::string_view key, double* out, double least, double most = 1e15);
  void Whole(std::string_view key, int64_t* out, int64_t least, int64_t most = 1'000'000'000'000);
  void Flag(std::string_view key, bool* out);
  void Text(std::string_view key, std::string* out);
  // Seconds, from "90s", "15m", "2h", "30d" or a number of seconds. At most about 31 years.
  void Seconds(std::string_view key, double* out, double least = 0, double most = 1e9);
  // Bytes, from "4KB", "50GB" (binary) or a number.
  void Bytes(std::string_view key, int64_t* out);
  // One of the names; `out` gets its position.
  void Choice(std::string_view key, const std::vector<std::string_view>& names, size_t* out);
  template <typename E>
  void Enum(std::string_view key, const std::vector<std::string_view>& names, E* out) {
    size_t at = static_cast<size_t>(*out);
    Choice(key, names, &at);
    *out = static_cast<E>(at);
  }
  // A table; nullopt if it is not there.
  std::optional<Section> Sub(std::string_view key);
  // An array of tables.
  std::vector<Section> List(std::string_view key);
  const toml::node* Node(std::string_view key);  // null if it is not there
  const toml::table& table() const { return table_; }
  const std::string& path() const { return path_; }
  Errors* errors() const { return errors_; }

 private:
  const toml::table& table_;
  std::string path_;
  Errors* errors_;
  std::set<std::string, std::less<>> asked_;
};

// Seconds of a node as Section::Seconds reads them; nullopt if it is no duration.
std::optional<double> SecondsOf(const toml::node& node);

}  // namespace stator::simulate
