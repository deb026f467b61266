#include "triggers/tumbling.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/time_text.h"

namespace stator::triggers {
namespace {

// "2026-11-27T16:00:00Z".
std::string Seconds(int64_t micros) {
  std::string text = FormatTime(micros);
  return text.substr(0, text.find('.')) + "Z";
}

}  // namespace

OpenWindow OpenFor(int64_t created_micros, int64_t length_micros, int64_t ended_micros) {
  const int64_t at = std::max<int64_t>({0, created_micros, ended_micros});
  const int64_t start = at - at % length_micros;
  // Windows of another length may have ended inside this one.
  return {std::max(start, ended_micros), start + length_micros, nullptr};
}

std::string WindowCall::TailOf(std::string_view shard_id) const {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  JsonWriter names;
  names.Open('{').Field("shardId", shard_id).Field("eventSourceARN", stream_arn).Close('}');
  std::string named = names.Take();
  named.pop_back();  // the line feed
  named.pop_back();  // the bracket
  return fmt::format(
      R"(],"window":{{"start":"{}","end":"{}"}},"state":{},{},"isFinalInvokeForWindow":{},)"
      R"("isWindowTerminatedEarly":{}}})",
      Seconds(window.start_micros), Seconds(window.end_micros),
      window.state == nullptr ? "{}" : std::string_view(*window.state),
      std::string_view(named).substr(1), flag(final_call), flag(early));
}

}  // namespace stator::triggers
