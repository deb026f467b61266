#include "server/front_door.h"

#include <optional>
#include <utility>

#include "api/auth.h"
#include "api/error_render.h"
#include "base/memory_account.h"
#include "ops/isolated_accounts.h"
#include "server/caller_identity.h"
#include "server/guarded_request.h"
#include "server/management_access.h"

namespace stator::server {
namespace {

// Definitions change rarely; each thread waits for one of them.
constexpr int kThreads = 8;
// A thread parses a body of 16 MB in up to 180 MB and decodes it. Where a network is behind the
// engine it may also wait.
constexpr int kLongThreads = 4;
constexpr int kLongThreadsWaiting = 16;
constexpr size_t kMostLongBytes = 16 << 20;
// Bodies of known, moderate size do not queue behind them: some hundred small gzip bodies that
// unpack to 16 MB would hold a write of 200 KB for half a minute.
constexpr size_t kMostModerateBytes = 1 << 20;
constexpr int kModerateThreads = 2;
constexpr int kModerateThreadsWaiting = 8;

RequestThreads::Options ModerateOptions(bool waiting) {
  return {.threads = waiting ? kModerateThreadsWaiting : kModerateThreads, .steps_wait = waiting};
}

// As much as the threads can decode at a time.
RequestThreads::Options LongOptions(bool waiting) {
  const int threads = waiting ? kLongThreadsWaiting : kLongThreads;
  return {.threads = threads,
          .most_begun_bytes = static_cast<size_t>(threads) * kMostLongBytes,
          .steps_wait = waiting};
}

// Returns a bound of the bytes of the body, unpacked.
size_t MostBytes(const http::Request& request) {
  return request.header("Content-Encoding").empty() ? request.body.size() : kMostLongBytes;
}

bool IsModerate(const api::Incoming& incoming) {
  return incoming.headers.content_encoding.empty() && incoming.body.size() <= kMostModerateBytes;
}

api::Incoming IncomingOf(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  api::Incoming incoming;
  incoming.memory = &exchange.memory();
  incoming.method = request.method;
  incoming.target = request.target;
  for (const http::Header& header : request.headers)
    incoming.headers.Add(header.name, header.value);
  incoming.body = request.body;
  return incoming;
}

// A request with what access control looks at beside.
struct Guarded {
  Guarded(const http::Exchange& exchange, bool guarded, api::Incoming* incoming) : peer(exchange) {
    if (!guarded) return;
    lines = LinesOf(exchange.request());
    incoming->lines = lines;
    incoming->peer = &peer;
  }
  std::vector<access::HeaderLine> lines;
  ExchangePeer peer;
};

http::Reply ReplyOf(api::Outgoing outgoing) {
  http::Reply reply;
  reply.status = outgoing.status;
  reply.headers = std::move(outgoing.headers);
  reply.body = std::move(outgoing.body);
  return reply;
}

Error OfDefaultAccount(std::string_view what) {
  return Error(ErrorCode::kAccessDenied,
               std::string(what).append(": for the default account alone, and with "
                                        "--isolate=access-key an access key has an account of its "
                                        "own"));
}

http::Reply NoSuchPage() {
  http::Reply reply;
  reply.status = 404;
  reply.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.body = "There is no such page on this port\n";
  return reply;
}

}  // namespace

FrontDoor::FrontDoor(api::Service& service, Management& management,
                     const ops::Environment& environment, guard::Gate* gate, IamDoor* iam,
                     audit::Trail* audit, bool waiting, bool console, ManagementPlace place,
                     ScalingDoor* scaling, TriggersDoor* triggers, const Presence* presence,
                     bool isolated)
    : service_(service),
      management_(management),
      environment_(environment),
      gate_(gate),
      iam_(iam),
      audit_(audit),
      console_(console && place.on),
      place_(place),
      scaling_(scaling),
      triggers_(triggers),
      presence_(presence),
      isolated_(isolated),
      pages_(console_),
      moderate_(ModerateOptions(waiting)),
      long_(LongOptions(waiting)) {
  if (waiting)
    waiting_ = std::make_unique<RequestThreads>(
        RequestThreads::Options{.threads = kThreads, .steps_wait = true});
}

std::string FrontDoor::IsolatedAccount(const http::Exchange& exchange) const {
  const std::vector<access::HeaderLine> lines = LinesOf(exchange.request());
  const http::Request& request = exchange.request();
  const std::string key = api::ClaimedKeyId(
      access::HttpRequestView{request.method, request.target, lines, request.body});
  if (key.empty()) return {};
  std::string account = ops::IsolatedAccounts::AccountOfKey(key);
  return account == environment_.settings.account ? std::string() : account;
}

http::Handler FrontDoor::HandlerOf(Executor& loop) {
  return
      [this, &loop](std::unique_ptr<http::Exchange> exchange) { Serve(std::move(exchange), loop); };
}

void FrontDoor::Stop() {
  if (waiting_ != nullptr) waiting_->Stop();
  moderate_.Stop();
  long_.Stop();
}

void FrontDoor::Serve(std::unique_ptr<http::Exchange> exchange, Executor& loop) {
  const bool managed = HasManagement(*exchange);
  if (Management::Owns(exchange->request().target)) {
    const bool health = exchange->request().target.starts_with("/health/");
    if (!managed || (!place_.on && !health)) return exchange->Send(NoSuchPage());
    if (gate_ != nullptr) {
      if (std::optional<http::Reply> refusal =
              RefuseManagement(*gate_, environment_, audit_, &exchange))
        return exchange->Send(*std::move(refusal));
    }
    management_.Handle(std::move(exchange));
    return;
  }
  if (presence_ != nullptr && Presence::Owns(exchange->request().target))
    return exchange->Send(presence_->Answer(exchange->request()));
  if (managed && !console_ && place_.listener != ManagementPlace::kEveryListener)
    return exchange->Send(NoSuchPage());
  if (triggers_ != nullptr && TriggersDoor::Owns(exchange->request().target)) {
    if (isolated_ && !IsolatedAccount(*exchange).empty())
      return TriggersDoor::Refuse(std::move(exchange), OfDefaultAccount("Event source mappings"));
    return triggers_->Handle(std::move(exchange));
  }
  if (iam_ != nullptr && IamDoor::Owns(exchange->request()))
    return iam_->Handle(std::move(exchange));
  const console::Pages& pages = managed ? pages_ : no_pages_;
  if (pages.Owns(exchange->request())) {
    exchange->Send(pages.Answer(exchange->request()));
    return;
  }
  api::Incoming incoming = IncomingOf(*exchange);
  if (scaling_ != nullptr && ScalingDoor::Owns(incoming.headers.target)) {
    if (isolated_ && !IsolatedAccount(*exchange).empty())
      return ScalingDoor::Refuse(std::move(exchange), OfDefaultAccount("Application Auto Scaling"));
    return scaling_->Handle(std::move(exchange));
  }
  if (iam_ == nullptr && incoming.headers.target.empty()) {
    std::string account = isolated_ ? IsolatedAccount(*exchange) : std::string();
    if (account.empty()) account = environment_.settings.account;
    if (std::optional<http::Reply> who =
            AnswerCallerIdentity(exchange->request(), environment_, account))
      return exchange->Send(*std::move(who));
  }
  const Guarded guarded(*exchange, service_.guarded(), &incoming);
  if (waiting_ != nullptr && service_.MayWait(incoming.headers.target)) {
    ServeWaiting(std::move(exchange), loop);
    return;
  }
  if (incoming.is_long()) {
    return ServeOn(IsModerate(incoming) ? moderate_ : long_, false, std::move(exchange), loop);
  }
  incoming.in_loop = true;
  service_.Handle(incoming, loop,
                  [this, &loop, exchange = std::move(exchange)](api::Outgoing outgoing) mutable {
                    if (outgoing.again) {
                      exchange->memory().Release();
                      if (waiting_ != nullptr) return ServeWaiting(std::move(exchange), loop);
                      return ServeOn(moderate_, /*may_wait=*/false, std::move(exchange), loop);
                    }
                    exchange->Send(ReplyOf(std::move(outgoing)));
                  });
}

// The answer to a request whose steps run beside its loop. At its end the exchange goes into the
// loop's turn, where it must end, and answers 500 if there is no reply.
class FrontDoor::Answer {
 public:
  Answer(std::unique_ptr<http::Exchange> exchange, Executor& loop)
      : exchange_(std::move(exchange)), loop_(loop) {}
  ~Answer() {
    if (exchange_ == nullptr) return;
    // This thread does not stand in for the loop: it has computed for long, so the system may well
    // take the processor from it, and the loop would wait.
    auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange_));
    loop_.Post([shared = std::move(shared), reply = std::move(reply_)]() mutable {
      if (reply) (*shared)->Send(*std::move(reply));
      shared->reset();
    });
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  http::Exchange& exchange() { return *exchange_; }
  void Set(http::Reply reply) { reply_ = std::move(reply); }
  // On the loop's thread.
  void SendNow(http::Reply reply) { std::exchange(exchange_, nullptr)->Send(std::move(reply)); }

 private:
  std::unique_ptr<http::Exchange> exchange_;
  Executor& loop_;
  std::optional<http::Reply> reply_;
};

void FrontDoor::HandIn(const std::shared_ptr<RequestThreads::Steps>& steps,
                       std::shared_ptr<Answer> answer, bool may_wait) {
  http::Exchange& exchange = answer->exchange();
  api::Incoming incoming = IncomingOf(exchange);
  const Guarded guarded(exchange, service_.guarded(), &incoming);
  incoming.may_wait = may_wait;
  // `answer` stays here until the request, at which much of this points, is handed in. The callback
  // is destroyed with the request, called or not.
  service_.Handle(
      incoming, *steps, [this, steps, answer, may_wait](api::Outgoing outgoing) mutable {
        if (!outgoing.again || may_wait) return answer->Set(ReplyOf(std::move(outgoing)));
        answer->exchange().memory().Release();
        RequestThreads::Steps& again = *steps;
        again.Post([this, steps = std::move(steps), answer = std::move(answer)]() mutable {
          HandIn(steps, std::move(answer), /*may_wait=*/true);
        });
      });
}

void FrontDoor::ServeOn(RequestThreads& threads, bool may_wait,
                        std::unique_ptr<http::Exchange> exchange, Executor& loop) {
  const size_t bytes = MostBytes(exchange->request());
  auto answer = std::make_shared<Answer>(std::move(exchange), loop);
  RequestThreads::Begin begin = [this, answer, may_wait](const auto& steps) mutable {
    HandIn(steps, std::move(answer), may_wait);
  };
  if (threads.TryBegin(bytes, begin)) return;
  api::RenderedError error = api::RenderError(
      Error(ErrorCode::kUnavailable, "The server is overloaded: too many requests wait, try again",
            std::make_shared<OverloadPayload>()));
  http::Reply reply;
  reply.status = error.status;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.0");
  reply.body = std::move(error.body);
  answer->SendNow(std::move(reply));
}

}  // namespace stator::server
