#include "audit/redact.h"

#include <algorithm>
#include <cctype>

#include "access/sigv4.h"
#include "base/ascii.h"

namespace stator::audit {
namespace {

constexpr std::string_view kStars = "***";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool BeginsWord(char c) { return IsLetter(c) || c == '_' || c == '#' || c == ':' || c == '$'; }
bool InWord(char c) { return BeginsWord(c) || IsDigit(c); }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool NamesTable(std::string_view word) {
  return EqualsIgnoringCase(word, "FROM") || EqualsIgnoringCase(word, "INTO") ||
         EqualsIgnoringCase(word, "UPDATE");
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string Read() {
    while (at_ < text_.size()) Next();
    return std::move(out_);
  }

 private:
  void Next() {
    const char c = text_[at_];
    if (IsSpace(c)) {
      ++at_;
      Space();
    } else if (Starts("--")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      Space();
    } else if (Starts("/*")) {
      const size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
      Space();
    } else if (c == '\'' || c == '`') {
      Quoted(c);
      Put(kStars);
    } else if (c == '"') {
      // Behind a table's name and a point stands the name of an index.
      const bool names = NamesTable(word_) || out_.ends_with("\".");
      const size_t begin = at_;
      const bool closed = Quoted(c);
      Put(names && closed ? text_.substr(begin, at_ - begin) : kStars);
    } else if (IsDigit(c)) {
      while (at_ < text_.size() && (InWord(text_[at_]) || text_[at_] == '.')) ++at_;
      Put(kStars);
    } else if (BeginsWord(c)) {
      const size_t begin = at_;
      while (at_ < text_.size() && InWord(text_[at_])) ++at_;
      word_ = text_.substr(begin, at_ - begin);
      out_ += word_;
    } else {
      constexpr std::string_view kSigns = "=<>!+-*/%()[]{},.;?|&~@";
      out_ += kSigns.find(c) != std::string_view::npos ? c : '?';
      ++at_;
      word_ = {};
    }
  }
  bool Starts(std::string_view sign) const { return text_.substr(at_, sign.size()) == sign; }
  // Passes over a quoted text; a doubled quote belongs to it. False if it does not end.
  bool Quoted(char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != quote) continue;
      if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
        ++at_;
        continue;
      }
      ++at_;
      return true;
    }
    return false;
  }
  void Space() {
    if (!out_.empty() && out_.back() != ' ') out_ += ' ';
  }
  void Put(std::string_view what) {
    out_ += what;
    word_ = {};
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string_view word_;  // the last one, if nothing but white space followed
  std::string out_;
};

}  // namespace

std::string WithoutLiterals(std::string_view text) { return Reader(text).Read(); }

}  // namespace stator::audit
