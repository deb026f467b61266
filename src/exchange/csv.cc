#include "exchange/csv.h"

#include <fmt/format.h>

#include <utility>

namespace stator::exchange {

Result<int> CsvRecords::Peek() {
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
    ASSIGN_OR_RETURN(const bool more, source_.More(&buffer_));
    if (!more) return -1;
  }
  return static_cast<unsigned char>(buffer_[begin_]);
}

Result<std::optional<std::vector<std::string>>> CsvRecords::Next() {
  std::vector<std::string> fields;
  quoted_.clear();
  std::string field;
  size_t bytes = 0;
  bool quoted = false;  // the field began with a quote
  bool inside = false;  // the quotes are open
  for (;;) {
    ASSIGN_OR_RETURN(const int next, Peek());
    if (next < 0 && inside) return Error(ErrorCode::kSerialization, "A quoted field has no end.");
    if (next < 0) break;
    ++begin_;
    if (++bytes > most_bytes_) {
      return Error(ErrorCode::kSerialization,
                   fmt::format("A record has more than {} bytes.", most_bytes_));
    }
    const char c = static_cast<char>(next);
    if (inside) {
      if (c != '"') {
        field.push_back(c);
        continue;
      }
      ASSIGN_OR_RETURN(const int after, Peek());
      if (after == '"') {
        field.push_back('"');
        ++begin_;
      } else {
        inside = false;
      }
    } else if (c == '"' && field.empty() && !quoted) {
      quoted = inside = true;
    } else if (c == delimiter_) {
      fields.push_back(std::exchange(field, {}));
      quoted_.push_back(std::exchange(quoted, false));
    } else if (c == '\n') {
      if (fields.empty() && field.empty() && !quoted) continue;
      break;
    } else if (c == '\r') {
      ASSIGN_OR_RETURN(const int after, Peek());
      if (after != '\n' && after >= 0) field.push_back(c);
    } else {
      field.push_back(c);
    }
  }
  if (fields.empty() && field.empty() && !quoted) return std::optional<std::vector<std::string>>();
  fields.push_back(std::move(field));
  quoted_.push_back(quoted);
  return std::optional<std::vector<std::string>>(std::move(fields));
}

}  // namespace stator::exchange
