#include "kv_rados/window.h"

#include <algorithm>

namespace stator::kv_rados {
namespace {

// Open, narrow, narrow, open, ...: what changes steadily meanwhile does not favour either.
bool IsNarrowTurn(int turn) { return (turn + 1) / 2 % 2 == 1; }
// Of a turn: then the requests have stopped coming, or come one by one.
constexpr int64_t kTooLong = 10 * Window::kTurnMicros;
// Narrow has to be better by as much; the more so when open was found to be better, the less when
// narrow was.
constexpr double kWorthIt = 1.03;
constexpr double kToChange = 1.03;
// What earlier trials counted weighs half as much with each new one: a machine that is busy with
// other things makes each of them a rough guess.
constexpr double kFades = 0.5;

}  // namespace

int64_t Window::Patience() const { return std::max(kPatience * usual_micros_, kPatienceMicros); }

void Window::DropHanging(int64_t now) {
  while (!under_way_.empty() && now - under_way_.begin()->second > Patience())
    under_way_.erase(under_way_.begin());
}

std::optional<int64_t> Window::OldestLeaves() const {
  if (under_way_.empty()) return std::nullopt;
  return under_way_.begin()->second + Patience() + 1;
}

std::optional<Window::Ticket> Window::Begin(int64_t now, size_t sources) {
  DropHanging(now);
  if (under_way_.size() >= Narrow(sources)) {
    wanted_ = true;
    if (narrow_) return std::nullopt;
    if (turn_ < 0 && now >= until_) BeginTurn(0, now);
  }
  under_way_.emplace_hint(under_way_.end(), ++last_, now);
  return last_;
}

void Window::Ended(Ticket ticket, int64_t now, size_t served) {
  if (const auto ended = under_way_.find(ticket); ended != under_way_.end()) {
    const int64_t took = now - ended->second;
    usual_micros_ = usual_micros_ == 0 ? took : usual_micros_ + (took - usual_micros_) / 16;
    under_way_.erase(ended);
  } else {
    usual_micros_ += usual_micros_ / 16;  // it did not hang, it was slow
  }
  if (turn_ < 0) {
    if (narrow_ && now >= until_) BeginTurn(0, now);
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

void Window::BeginTurn(int turn, int64_t now) {
  if (turn == 0) {
    for (Tally* tally : {&open_tally_, &narrow_tally_}) {
      tally->requests *= kFades;
      tally->micros *= kFades;
    }
  }
  const bool narrow = IsNarrowTurn(turn);
  counting_ = turn > 0 && narrow == narrow_;
  turn_ = turn;
  narrow_ = narrow;
  before_ = last_;
  turn_began_ = now;
  turn_requests_ = 0;
  wanted_ = false;
}

void Window::EndTurn(int64_t now) {
  if (!wanted_ || turn_requests_ < kTurnRequests) {  // there is nothing to find out
    turn_ = -1;
    narrow_ = false;
    found_.reset();
    until_ = now;
    return;
  }
  Tally& tally = narrow_ ? narrow_tally_ : open_tally_;
  tally.requests += static_cast<double>(turn_requests_);
  tally.micros += static_cast<double>(now - turn_began_);
  if (turn_ + 1 < kTurns) return BeginTurn(turn_ + 1, now);
  const double known = !found_ ? 1 : *found_ ? 1 / kToChange : kToChange;
  Settle(narrow_tally_.rate() > kWorthIt * known * open_tally_.rate());
  until_ = now + hold_micros_;
}

void Window::Settle(bool narrow) {
  hold_micros_ = found_ == narrow ? std::min(2 * hold_micros_, kMaxHoldMicros) : kHoldMicros;
  found_ = narrow;
  narrow_ = narrow;
  turn_ = -1;
}

}  // namespace stator::kv_rados
