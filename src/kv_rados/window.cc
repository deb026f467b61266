#include "kv_rados/window.h"

#include <algorithm>
#include <cstdint>

namespace stator::kv_rados {
namespace {

// Wide, narrow, narrow, wide, ...: what changes steadily meanwhile does not favour either.
bool IsNarrowTurn(int turn) { return (turn + 1) / 2 % 2 == 1; }
// The maximum length of a turn, reached only if requests have stopped or come one by one.
constexpr int64_t kTooLong = 10 * Window::kTurnMicros;
// The factor by which a narrow level must serve more requests than the next wider one to be chosen.
// It is below 1 for the narrower levels, because of two levels that serve equally many the narrower
// one costs less. (kToChange favours the level that the last trial found. A result beyond kClear is
// certain.)
constexpr double kWorthIt[Window::kLevels - 1] = {1.03, 0.98, 0.99};
constexpr double kToChange = 1.03;
constexpr double kClear = 1.15;  // beyond doubt
// With each new trial, the counts of earlier ones weigh half as much. They are kept because a
// single trial is inaccurate on a busy machine.
constexpr double kFades = 0.5;

}  // namespace

int64_t Window::Patience() const {
  return std::clamp(kPatience * usual_micros_, kPatienceMicros, kMaxPatienceMicros);
}

void Window::DropHanging(int64_t now) {
  while (!under_way_.empty() && now - under_way_.begin()->second > Patience())
    under_way_.erase(under_way_.begin());
}

std::optional<int64_t> Window::OldestLeaves() const {
  if (under_way_.empty()) return std::nullopt;
  return under_way_.begin()->second + Patience() + 1;
}

size_t Window::Width(int level, size_t sources) {
  switch (level) {
    case 0: return SIZE_MAX;
    case 1:
    case 2: return std::max<size_t>(4, sources / 4);
    default: return std::max<size_t>(2, sources / 8);
  }
}

bool Window::IsFull(int level, size_t sources) const {
  return (InBursts(level) ? burst_ : under_way_.size()) >= Width(level, sources);
}

void Window::GiveBack(Ticket ticket) {
  under_way_.erase(ticket);
  if (burst_ > 0) --burst_;
}

std::optional<Window::Ticket> Window::Begin(int64_t now, size_t sources) {
  DropHanging(now);
  if (under_way_.empty()) burst_ = 0;
  const bool trial = turn_ >= 0;
  wanted_ |= trial && IsFull(static_cast<int>(wide_) + 1, sources);
  if (IsFull(level_, sources)) return std::nullopt;
  if (!trial && level_ == 0 && now >= until_ && under_way_.size() >= Width(1, sources)) Narrow(now);
  ++burst_;
  under_way_.emplace_hint(under_way_.end(), ++last_, now);
  return last_;
}

void Window::Ended(Ticket ticket, int64_t now, size_t served) {
  if (const auto ended = under_way_.find(ticket); ended != under_way_.end()) {
    const int64_t took = now - ended->second;
    usual_micros_ = usual_micros_ == 0 ? took : usual_micros_ + (took - usual_micros_) / 16;
    under_way_.erase(ended);
  } else {
    usual_micros_ += usual_micros_ / 16 + 1;  // it did not hang, it was slow
  }
  if (turn_ < 0) {
    if (level_ > 0 && now >= until_) BeginTrial(now);
    return;
  }
  DropHanging(now);
  if (counting_) {
    turn_requests_ += served;
    if (now - turn_began_ >= kTurnMicros &&
        (turn_requests_ >= kTurnRequests || now - turn_began_ >= kTooLong))
      EndTurn(now);
  } else if (under_way_.empty() || under_way_.begin()->first > before_) {
    counting_ = true;
    turn_began_ = now;
  }
}

// Called when demand has risen: uses the level that the last trial found best, or begins a trial if
// that was long ago or found none.
void Window::Narrow(int64_t now) {
  if (found_level_ == 0 || now - found_at_ > kRememberMicros) return BeginTrial(now);
  Keep(found_level_, now);
}

// Until one of the pairs that it is of is to be tried again.
void Window::Keep(int level, int64_t now) {
  level_ = level;
  const size_t at = static_cast<size_t>(level);
  until_ = INT64_MAX;
  if (level > 0) until_ = pairs_[at - 1].until;
  if (at < pairs_.size()) until_ = std::min(until_, pairs_[at].until);
  until_ = std::max(until_, now + kHoldMicros);
}

void Window::BeginTrial(int64_t now) {
  // Between two neighbours the pair whose time has come first.
  const size_t level = static_cast<size_t>(level_);
  wide_ = level == 0 || (level < pairs_.size() && pairs_[level].until <= pairs_[level - 1].until)
              ? level
              : level - 1;
  for (Tally* tally : {&pairs_[wide_].wide, &pairs_[wide_].narrow}) {
    tally->requests *= kFades;
    tally->micros *= kFades;
  }
  BeginTurn(0, now);
}

void Window::BeginTurn(int turn, int64_t now) {
  const int level = static_cast<int>(wide_) + (IsNarrowTurn(turn) ? 1 : 0);
  counting_ = turn > 0 && level == level_;
  turn_ = turn;
  level_ = level;
  before_ = last_;
  turn_began_ = now;
  turn_requests_ = 0;
  wanted_ = false;
}

void Window::EndTurn(int64_t now) {
  if (!wanted_ || turn_requests_ < kTurnRequests) return Open(now);  // there is nothing to find out
  Pair& pair = pairs_[wide_];
  Tally& tally = IsNarrowTurn(turn_) ? pair.narrow : pair.wide;
  tally.requests += static_cast<double>(turn_requests_);
  tally.micros += static_cast<double>(now - turn_began_);
  if (turn_ + 1 < kTurns) return BeginTurn(turn_ + 1, now);
  const double known = !pair.found ? 1 : *pair.found ? 1 / kToChange : kToChange;
  const double gain = pair.wide.rate() > 0 ? pair.narrow.rate() / pair.wide.rate() : 1;
  Settle(gain > kWorthIt[wide_] * known, gain > kClear || gain < 1 / kClear, now);
}

void Window::Settle(bool narrow, bool clear, int64_t now) {
  Pair& pair = pairs_[wide_];
  const int64_t longer = clear ? 8 : 2;
  pair.hold_micros =
      pair.found == narrow ? std::min(longer * pair.hold_micros, kMaxHoldMicros) : kHoldMicros;
  pair.found = narrow;
  pair.until = now + pair.hold_micros;
  turn_ = -1;
  found_level_ = static_cast<int>(wide_) + (narrow ? 1 : 0);
  found_at_ = now;
  Keep(found_level_, now);
}

void Window::Open(int64_t now) {
  turn_ = -1;
  level_ = 0;
  until_ = now;
}

}  // namespace stator::kv_rados
