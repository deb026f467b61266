#include "server/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"

namespace stator::server {
namespace {

constexpr auto kEverySecond = std::chrono::seconds(1);
// The number of parts into which the work on tables is divided.
constexpr uint32_t kParts = 32;
constexpr std::string_view kChoresTopic = "chores";
// The cluster must answer within this time; otherwise it counts as unreachable.
constexpr int64_t kSilenceMicros = 10'000'000;
// Reads a second apart after which it is plain who beats: a little more than others take for that.
constexpr int kReadsToJudge = 7;

std::string LeaseOf(uint32_t tablet) { return fmt::format("table/{:02}", tablet % kParts); }

std::vector<std::string> LeaseNames() {
  std::vector<std::string> names;
  for (uint32_t part = 0; part < kParts; ++part) names.push_back(LeaseOf(part));
  return names;
}

}  // namespace

Peers::Peers(kv::Engine& engine, const Clock& clock, std::string id, fleet::Beat beat)
    : engine_(engine),
      clock_(clock),
      clock_kind_(beat.clock),
      fleet_(engine, clock, {std::move(id), std::move(beat), LeaseNames()}),
      messages_(*engine.bulletin()),
      settings_(engine, messages_) {}

Peers::~Peers() { Stop(); }

Status Peers::CheckClocks() {
  fleet::Members members;
  for (int reads = 0; reads < kReadsToJudge; ++reads) {
    if (reads > 0) std::this_thread::sleep_for(kEverySecond);
    ASSIGN_OR_RETURN(const fleet::Membership membership, fleet::ReadMembership(engine_));
    std::vector<fleet::Members::Entry> entries;
    for (const auto& [id, member] : membership.members) {
      if (member.beat.clock != clock_kind_) entries.push_back({id, member.beat, member.stamp});
    }
    const std::map<std::string, fleet::Member> before = members.all();
    members.Observe(entries, clock_.TicksMicros());
    if (members.Alive().empty()) return OkStatus();
    for (const auto& [id, member] : members.all()) {
      const auto known = before.find(id);
      if (known == before.end() || known->second.beat.sequence == member.beat.sequence) continue;
      return Error(ErrorCode::kUnavailable,
                   fmt::format("The process at {} serves this store with --clock={}: all processes "
                               "of a store have the same kind of "
                               "clock.",
                               member.beat.endpoint, member.beat.clock));
    }
  }
  return OkStatus();
}

Status Peers::ShareAges(AgeClock& ages) {
  fleet_.TellAges(ages);
  ASSIGN_OR_RETURN(const fleet::Membership before, fleet::ReadMembership(engine_));
  if (before.members.empty() || ages.by_date()) return OkStatus();
  // A process beats every second. One whose beat stands still is dead, and its age too.
  std::this_thread::sleep_for(kEverySecond * 5 / 4);
  ASSIGN_OR_RETURN(const fleet::Membership now, fleet::ReadMembership(engine_));
  std::optional<int64_t> oldest;
  for (const auto& [id, member] : now.members) {
    const auto known = before.members.find(id);
    if (known == before.members.end() || known->second.beat.sequence == member.beat.sequence)
      continue;
    // A version without ages goes by its date.
    const fleet::Beat& beat = member.beat;
    const int64_t age = beat.age_micros != 0 ? beat.age_micros : beat.at_micros;
    oldest = std::max(oldest.value_or(age), age);
  }
  if (oldest) ages.StartAt(*oldest);
  return OkStatus();
}

Status Peers::Start(Chores& chores, std::function<void()> follow) {
  messages_.On(std::string(kChoresTopic), [this, &chores](std::string_view from) {
    if (from != id()) chores.RunAll();
  });
  TRY(fleet_.Step());
  TRY(settings_.Refresh());
  beating_ = std::make_unique<Ticker>(kEverySecond, [this] {
    if (const Status step = fleet_.Step(); !step.ok())
      LogWarn("no_beat", {{"error", step.error().message()}});
  });
  following_ = std::make_unique<Ticker>(kEverySecond, [this, follow = std::move(follow)] {
    if (const Status read = settings_.Refresh(); !read.ok())
      LogWarn("settings_not_read", {{"error", read.error().message()}});
    follow();
  });
  return OkStatus();
}

void Peers::Stop() {
  if (std::exchange(stopped_, true)) return;
  messages_.Stop();
  if (following_ != nullptr) following_->Stop();
  if (beating_ == nullptr) return;
  beating_->Stop();
  if (const Status left = fleet_.Leave(); !left.ok())
    LogWarn("not_signed_off", {{"error", left.error().message()}});
}

bool Peers::IsMine(uint32_t tablet) const { return all_mine_ > 0 || fleet_.Holds(LeaseOf(tablet)); }

bool Peers::RunChores(Chores& chores) {
  ++all_mine_;
  const bool done = chores.RunAll();
  --all_mine_;
  if (!done) return false;
  if (const Status told = messages_.Announce(kChoresTopic, id()); !told.ok())
    LogWarn("chores_not_acknowledged", {{"error", told.error().message()}});
  return true;
}

Status Peers::Ready() const {
  TRY(engine_.Health());
  const int64_t silence = fleet_.MicrosSinceContact();
  if (silence < kSilenceMicros) return OkStatus();
  return Error(ErrorCode::kUnavailable,
               fmt::format("The cluster has not answered for {} seconds.", silence / 1'000'000));
}

}  // namespace stator::server
