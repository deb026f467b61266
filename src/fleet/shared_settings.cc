#include "fleet/shared_settings.h"

#include "base/log.h"
#include "fleet/records.h"

namespace stator::fleet {
namespace {

// A lost race means that another process changed a setting with this prefix.
constexpr int kMostRounds = 100;

std::string EndOf(std::string prefix) {
  ++prefix.back();  // prefixes are text
  return prefix;
}

}  // namespace

SharedSettings::SharedSettings(kv::Engine& engine, Messages& messages)
    : engine_(engine), messages_(messages) {
  messages.On(std::string(kTopic), [this](std::string_view) {
    if (const Status read = Refresh(); !read.ok())
      LogWarn("settings_not_read", {{"error", read.error().message()}});
  });
}

void SharedSettings::Follow(std::string prefix, Follower follower) {
  const MutexLock refreshing(refreshing_);
  for (const auto& [name, stored] : known_) {
    if (name.starts_with(prefix)) follower(name, stored.text);
  }
  followers_.emplace_back(std::move(prefix), std::move(follower));
}

Result<SharedSettings::Entries> SharedSettings::Read(kv::Engine& engine, std::string_view prefix) {
  const std::string begin = KeyOf(kSettingPrefix, prefix);
  const std::string end = EndOf(begin);
  Entries entries;
  Status bad;
  TRY(engine.Scan({kFleetTablet, begin, end, false}, kv::Tier::kAny,
                  [&](std::string_view key, std::string_view value) {
                    const Result<std::string_view> text = DecodeRecord(value);
                    if (!text.ok()) {
                      bad = text.error();
                      return false;
                    }
                    entries[std::string(NameIn(kSettingPrefix, key))] = {std::string(*text),
                                                                         kv::StampOf(value)};
                    return true;
                  }));
  TRY(std::move(bad));
  return entries;
}

Result<std::map<std::string, std::string>> ReadSettings(kv::Engine& engine) {
  ASSIGN_OR_RETURN(const SharedSettings::Entries entries, SharedSettings::Read(engine, ""));
  std::map<std::string, std::string> texts;
  for (const auto& [name, stored] : entries) texts[name] = stored.text;
  return texts;
}

Status SharedSettings::Refresh() {
  const MutexLock refreshing(refreshing_);
  ASSIGN_OR_RETURN(Entries now, Read(engine_, ""));
  const auto tell = [this](const std::string& name, const std::optional<std::string>& text)
                        REQUIRES(refreshing_) {
                          for (const auto& [prefix, follower] : followers_) {
                            if (name.starts_with(prefix)) follower(name, text);
                          }
                        };
  for (const auto& [name, stored] : known_) {
    if (!now.contains(name)) tell(name, std::nullopt);
  }
  for (const auto& [name, stored] : now) {
    const auto before = known_.find(name);
    if (before == known_.end() || before->second.stamp != stored.stamp) tell(name, stored.text);
  }
  known_ = std::move(now);
  return OkStatus();
}

Status SharedSettings::Change(std::string_view prefix, FunctionRef<Status(Texts* texts)> change) {
  for (int round = 0;; ++round) {
    ASSIGN_OR_RETURN(const Entries before, Read(engine_, prefix));
    Texts texts;
    for (const auto& [name, stored] : before) texts[name] = stored.text;
    TRY(change(&texts));
    kv::Batch batch;
    for (const auto& [name, stored] : before) {
      const std::string key = KeyOf(kSettingPrefix, name);
      batch.guards.push_back({kFleetTablet, key, stored.stamp});
      if (!texts.contains(name)) batch.deletes.push_back({kFleetTablet, key});
    }
    for (const auto& [name, text] : texts) {
      const auto old = before.find(name);
      if (old != before.end() && old->second.text == text) continue;
      const std::string key = KeyOf(kSettingPrefix, name);
      if (old == before.end()) batch.guards.push_back({kFleetTablet, key, 0});
      batch.puts.push_back({kFleetTablet, key, EncodeRecord(text)});
    }
    if (batch.puts.empty() && batch.deletes.empty()) return Refresh();
    Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
    if (applied.ok()) break;
    if (applied.error().code() != ErrorCode::kGuardFailed || round == kMostRounds)
      return std::move(applied).error();
  }
  TRY(Refresh());
  if (const Status told = messages_.Announce(kTopic); !told.ok()) {
    // A process that missed the message reads the settings within a second.
    LogWarn("settings_not_acknowledged", {{"error", told.error().message()}});
  }
  return OkStatus();
}

}  // namespace stator::fleet
