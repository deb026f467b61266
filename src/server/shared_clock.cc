#include "server/shared_clock.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"

namespace stator::server {
namespace {

const std::string kSetting = "clock";

std::optional<int64_t> TimeIn(const std::string& text) {
  int64_t micros = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return micros;
}

}  // namespace

void SharedClock::AdvanceTo(int64_t micros) {
  const MutexLock lock(advancing_);
  const int64_t by = micros - clock_.NowMicros();
  if (by > 0) clock_.AdvanceMicros(by);
}

Status SharedClock::Join(std::optional<int64_t> start, int64_t now) {
  TRY(settings_.Change(kSetting, [&](fleet::SharedSettings::Texts* texts) -> Status {
    const auto found = texts->find(kSetting);
    const std::optional<int64_t> stored =
        found == texts->end() ? std::nullopt : TimeIn(found->second);
    const int64_t time = stored ? std::max(*stored, start.value_or(*stored)) : start.value_or(now);
    if (stored != time) (*texts)[kSetting] = std::to_string(time);
    return OkStatus();
  }));
  settings_.Follow(kSetting, [this](const std::string&, const std::optional<std::string>& text) {
    const std::optional<int64_t> time = text ? TimeIn(*text) : std::nullopt;
    if (time) {
      AdvanceTo(*time);
    } else {
      LogWarn("shared_clock_lost");
    }
  });
  return OkStatus();
}

Status SharedClock::Move(FunctionRef<Result<int64_t>(int64_t now)> target) {
  return settings_.Change(kSetting, [&](fleet::SharedSettings::Texts* texts) -> Status {
    const auto found = texts->find(kSetting);
    const std::optional<int64_t> stored =
        found == texts->end() ? std::nullopt : TimeIn(found->second);
    const int64_t now = std::max(stored.value_or(0), clock_.NowMicros());
    ASSIGN_OR_RETURN(const int64_t then, target(now));
    (*texts)[kSetting] = std::to_string(std::max(now, then));
    return OkStatus();
  });
}

Status SharedClock::Forget(fleet::SharedSettings& settings) {
  return settings.Change(kSetting, [](fleet::SharedSettings::Texts* texts) {
    texts->erase(kSetting);
    return OkStatus();
  });
}

}  // namespace stator::server
