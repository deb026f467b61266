#include "link/owner.h"

#include <algorithm>
#include <utility>

namespace stator::link {
namespace {

constexpr uint64_t kPing = 1, kMessage = 2, kGoodbye = 3;
// A lease in tenths of the asker's timeout; the rest is for clocks that go at different rates.
constexpr int64_t kLeaseTenths = 9;
constexpr int64_t kLongestTimeoutMicros = 60'000'000;

}  // namespace

Owner::Owner(const OwnerOptions& options, std::shared_ptr<Lease> lease, const Clock& clock,
             access::SecureRandom& random)
    : options_(options),
      lease_(std::move(lease)),
      clock_(clock),
      channel_(Side::kOwner, options.secret, {options.id, 0}, options.most_request_bytes, random) {}

Status Owner::Receive(std::string_view bytes, std::vector<Request>* requests) {
  std::vector<std::string> payloads;
  TRY(channel_.Receive(bytes, &payloads));
  if (payloads.empty()) return OkStatus();
  const int64_t now = clock_.TicksMicros();
  const int64_t timeout =
      std::min(int64_t{channel_.other().timeout_millis} * 1000, kLongestTimeoutMicros);
  last_heard_ = now;
  for (const std::string& payload : payloads) {
    std::string_view rest = payload;
    uint64_t type = 0, seen = 0, number = 0;
    bool good = TakeNumber(&rest, 1, &type) && TakeNumber(&rest, 8, &seen);
    if (good && type == kMessage) good = TakeNumber(&rest, 8, &number);
    // A time that this process has not told yet would be a lease for ever.
    if (!good || seen > static_cast<uint64_t>(now))
      return Error(ErrorCode::kUnavailable, "the other side has sent a damaged frame");
    if (seen != 0) lease_->Extend(static_cast<int64_t>(seen) + timeout * kLeaseTenths / 10);
    if (type == kPing) {
      std::string pong;
      AppendNumber(kPing, 1, &pong);
      AppendNumber(static_cast<uint64_t>(now), 8, &pong);
      channel_.Send(pong);
      continue;
    }
    if (type != kMessage) continue;
    last_number_ = number;
    kv::FatePtr permit =
        stopping_ || running_ >= options_.most_requests ? nullptr : lease_->Take(now);
    if (permit == nullptr) {
      SendAnswer(number, true, {});
      continue;
    }
    ++running_;
    requests->push_back({number, std::string(rest), std::move(permit)});
  }
  return OkStatus();
}

void Owner::BeginStop() {
  if (std::exchange(stopping_, true) || !channel_.open()) return;
  std::string goodbye;
  AppendNumber(kGoodbye, 1, &goodbye);
  AppendNumber(static_cast<uint64_t>(clock_.TicksMicros()), 8, &goodbye);
  AppendNumber(last_number_, 8, &goodbye);
  channel_.Send(goodbye);
}

void Owner::Reply(uint64_t number, bool refused, std::string_view answer) {
  --running_;
  SendAnswer(number, refused, answer);
}

void Owner::SendAnswer(uint64_t number, bool refused, std::string_view answer) {
  std::string message;
  message.reserve(18 + answer.size());
  AppendNumber(kMessage, 1, &message);
  AppendNumber(static_cast<uint64_t>(clock_.TicksMicros()), 8, &message);
  AppendNumber(number, 8, &message);
  AppendNumber(refused ? 1 : 0, 1, &message);
  message.append(answer);
  channel_.Send(message);
}

}  // namespace stator::link
