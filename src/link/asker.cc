#include "link/asker.h"

#include <algorithm>
#include <utility>

namespace stator::link {
namespace {

constexpr uint64_t kPing = 1, kMessage = 2, kGoodbye = 3;
constexpr int64_t kIdleMicros = 1'000'000;  // between pings, and how long use keeps a link busy
constexpr int64_t kPingsPerTimeout = 4;

}  // namespace

Asker::Asker(const AskerOptions& options, std::string owner, const Clock& clock,
             access::SecureRandom& random)
    : options_(options),
      owner_(std::move(owner)),
      clock_(clock),
      channel_(Side::kAsker, options.secret,
               {options.id, static_cast<uint32_t>(options.timeout_micros / 1000)},
               options.most_answer_bytes, random),
      last_tick_(clock.TicksMicros()) {}

bool Asker::warm() const {
  return known() && clock_.TicksMicros() - heard_ <= options_.timeout_micros / 2;
}

int64_t Asker::interval(int64_t now) const {
  return !waiting_.empty() || now < active_until_ ? options_.timeout_micros / kPingsPerTimeout
                                                  : kIdleMicros;
}

int64_t Asker::patience() const {
  return std::max(options_.patience_micros, options_.timeout_micros);
}

void Asker::Ping(int64_t now) {
  std::string ping;
  AppendNumber(kPing, 1, &ping);
  AppendNumber(seen_, 8, &ping);
  channel_.Send(ping);
  last_ping_ = now;
  if (!unanswered_since_) unanswered_since_ = now;
}

bool Asker::Ask(std::string_view request, AnswerDone& done) {
  const int64_t now = clock_.TicksMicros();
  active_until_ = now + kIdleMicros;
  if (!channel_.open() || dismissed_) return false;
  if (!warm()) {
    if (!unanswered_since_) Ping(now);
    return false;
  }
  if (waiting_.size() >= options_.most_requests || bytes_ + request.size() > options_.most_bytes)
    return false;
  std::string message;
  message.reserve(17 + request.size());
  AppendNumber(kMessage, 1, &message);
  AppendNumber(seen_, 8, &message);
  AppendNumber(next_number_, 8, &message);
  message.append(request);
  channel_.Send(message);
  waiting_.emplace(next_number_++, Waiting{std::move(done), request.size()});
  bytes_ += request.size();
  return true;
}

Status Asker::Receive(std::string_view bytes, Finished* finished) {
  const bool was_open = channel_.open();
  std::vector<std::string> payloads;
  TRY(channel_.Receive(bytes, &payloads));
  const int64_t now = clock_.TicksMicros();
  if (channel_.open() && !was_open) {
    if (channel_.other().id != owner_)
      return Error(ErrorCode::kUnavailable, "another process than expected is at that address");
    Ping(now);
  }
  for (const std::string& payload : payloads) {
    std::string_view rest = payload;
    uint64_t type = 0, time = 0, number = 0, kind = 0;
    bool good = TakeNumber(&rest, 1, &type) && TakeNumber(&rest, 8, &time);
    if (good && type != kPing) good = TakeNumber(&rest, 8, &number);
    if (good && type == kMessage) good = TakeNumber(&rest, 1, &kind) && kind <= 1;
    if (!good) return Error(ErrorCode::kUnavailable, "the other side has sent a damaged frame");
    seen_ = std::max(seen_, time);
    heard_ = now;
    unanswered_since_.reset();
    if (type == kGoodbye) {
      dismissed_ = true;
      const auto first = waiting_.upper_bound(number);
      for (auto each = first; each != waiting_.end(); ++each) {
        bytes_ -= each->second.bytes;
        finished->emplace_back(std::move(each->second.done), Answer{Outcome::kRefused, {}});
      }
      waiting_.erase(first, waiting_.end());
    }
    if (type != kMessage) continue;
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) continue;
    bytes_ -= found->second.bytes;
    finished->emplace_back(std::move(found->second.done),
                           Answer{static_cast<Outcome>(kind), std::string(rest)});
    waiting_.erase(found);
  }
  return OkStatus();
}

Status Asker::Tick() {
  const int64_t now = clock_.TicksMicros();
  const int64_t slept = now - std::exchange(last_tick_, now);
  if (!channel_.open()) return OkStatus();
  if (unanswered_since_) {
    // This process may have stood still itself; then the answer may lie in the socket.
    if (slept > options_.timeout_micros / 2)
      unanswered_since_ = std::min(now, *unanswered_since_ + slept);
    if (now - *unanswered_since_ >= patience())
      return Error(ErrorCode::kUnavailable, "the other side does not answer");
  }
  if (now - last_ping_ >= interval(now)) Ping(now);
  return OkStatus();
}

int64_t Asker::next_tick() const {
  if (!channel_.open()) return INT64_MAX;
  const int64_t now = clock_.TicksMicros();
  int64_t next = last_ping_ + interval(now);
  if (unanswered_since_) next = std::min(next, *unanswered_since_ + patience());
  return next;
}

int64_t Asker::BreakTime() const { return waiting_.empty() ? 0 : heard_ + options_.timeout_micros; }

void Asker::Break(Finished* finished) {
  for (auto& [number, waiting] : waiting_)
    finished->emplace_back(std::move(waiting.done), Answer{Outcome::kUnknown, {}});
  waiting_.clear();
  bytes_ = 0;
}

}  // namespace stator::link
