#include "mcp/stdio.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace stator::mcp {
namespace {

constexpr size_t kChunk = 64 << 10;

bool WriteLine(int out, std::string text) {
  text += '\n';
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = ::write(out, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    left.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

class Lines {
 public:
  Lines(int out, const Protocol& protocol) : out_(out), protocol_(protocol) {}

  // Takes what was read. False once answers cannot be written.
  bool Take(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t end = std::min(bytes.find('\n'), bytes.size());
      if (line_.size() + end > kMostMessageBytes + 1) {  // a CR may end it
        too_long_ = true;
        line_.clear();
      }
      if (!too_long_) line_.append(bytes.substr(0, end));
      if (end == bytes.size()) return true;
      bytes.remove_prefix(end + 1);
      if (!EndLine()) return false;
    }
    return true;
  }
  bool EndLine() {
    const bool too_long = std::exchange(too_long_, false);
    std::string line = std::exchange(line_, {});
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() && !too_long) return true;
    const Answer answer = too_long ? Protocol::RefuseTooLong() : protocol_.Handle(line, nullptr);
    return answer.text.empty() || WriteLine(out_, answer.text);
  }

 private:
  const int out_;
  const Protocol& protocol_;
  std::string line_;
  bool too_long_ = false;  // the line that is being read
};

}  // namespace

void ServeLines(int in, int out, const Protocol& protocol) {
  Lines lines(out, protocol);
  std::string chunk(kChunk, '\0');
  for (;;) {
    const ssize_t got = ::read(in, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (!lines.Take(std::string_view(chunk).substr(0, static_cast<size_t>(got)))) return;
  }
  lines.EndLine();
}

}  // namespace stator::mcp
