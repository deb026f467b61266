#include "shared_host.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <optional>

#include "base/pump.h"
#include "base/random.h"
#include "kv/shared_memory.h"
#include "kv_rados/rados_engine.h"
#include "kv_tx/transaction_engine.h"
#include "server/instance.h"
#include "server/test_network_engine.h"

namespace stator::scripts {
namespace {

constexpr size_t kServers = 3;

// A new process's way to the store.
using Attach = std::function<Result<std::unique_ptr<kv::Engine>>()>;

class Exchange final : public http::Exchange {
 public:
  Exchange(Executor& loop, const Question& question, std::optional<Answer>* answer)
      : loop_(loop), body_(question.body + std::string(http::kBodyPadding, ' ')), answer_(answer) {
    request_.method = question.method;
    request_.target = question.target;
    request_.headers = {{"Host", "localhost"}};
    for (const auto& [name, value] : question.headers) request_.headers.push_back({name, value});
    request_.body = std::string_view(body_).substr(0, question.body.size());
  }
  const http::Request& request() const override { return request_; }
  Executor& loop() override { return loop_; }
  MemoryLease& memory() override { return lease_; }
  void Send(http::Reply reply) override {
    answer_->emplace();
    (*answer_)->status = reply.status;
    for (auto& [name, value] : reply.headers)
      (*answer_)->headers.emplace_back(name, std::move(value));
    (*answer_)->body = std::move(reply.body);
  }

 private:
  Executor& loop_;
  const std::string body_;
  http::Request request_;
  std::optional<Answer>* const answer_;
  MemoryAccount account_{1 << 30};
  MemoryHolder holder_{account_, {}};
  MemoryLease lease_{holder_};
};

// Three servers on one store, each with its own engine, catalog, clock and background work; each
// request goes to the next one. This thread is the loop of all of them, and must never wait for an
// engine.
class SharedHost final : public Host {
 public:
  explicit SharedHost(Attach attach) : attach_(std::move(attach)) {}
  ~SharedHost() override { Close(); }

  Answer Ask(const Question& question) override {
    http::Handler& handler = handlers_[next_++ % kServers];
    std::optional<Answer> answer;
    handler(std::make_unique<Exchange>(loop_, question, &answer));
    loop_.RunUntil([&answer] { return answer.has_value(); });
    return *std::move(answer);
  }

  // All end, and begin again.
  Status Reopen() override {
    Close();
    server::ServeSettings settings;
    settings.engine = server::EngineKind::kRados;  // shows only
    settings.clock = server::ClockKind::kManual;
    settings.clock_start_micros = ManualClock().NowMicros();
    settings.worker_threads = 4;
    settings.ttl_interval_micros = 1'000'000;
    settings.throttling.all = throughput::Throttling::kOff;
    for (size_t i = 0; i < kServers; ++i) {
      settings.seed = 20120810 + i;
      kv_tx::Options options;
      options.threads = 2;
      ASSIGN_OR_RETURN(std::unique_ptr<kv::Engine> attached, attach_());
      auto engine = std::make_unique<server::NetworkEngine>(
          std::make_unique<kv_tx::TransactionEngine>(std::move(attached), options));
      engines_[i] = engine.get();
      server::Instance::Options served;
      served.port = static_cast<uint16_t>(8101 + i);
      served.sockets = [] { return http::ServerState(); };
      ASSIGN_OR_RETURN(instances_[i],
                       server::Instance::Open(settings, std::move(engine), std::move(served)));
      TRY(instances_[i]->Start());
      handlers_[i] = instances_[i]->HandlerOf(loop_);
      engines_[i]->ForbidThisThread();
    }
    return OkStatus();
  }

  Status Advance(std::string_view duration) override {
    Question question;
    question.target = "/_stator/clock";
    question.headers = {{"X-Stator-Management", "true"}};
    question.body = fmt::format(R"({{"advance": "{}"}})", duration);
    const Answer answer = Ask(question);
    if (answer.status != 200)
      return ValidationError(
          fmt::format("the clock was not moved: {} {}", answer.status, answer.body));
    return OkStatus();
  }

  Status Check() override {
    int calls = 0;
    for (const server::NetworkEngine* engine : engines_) calls += engine->forbidden_calls();
    if (calls == 0) return OkStatus();
    return ValidationError(fmt::format("a loop waited {} times for the engine", calls));
  }

 private:
  void Close() {
    for (auto& engine : engines_) {
      if (engine != nullptr) engine->AllowAllThreads();
      engine = nullptr;
    }
    for (auto& instance : instances_) instance.reset();
  }

  const Attach attach_;
  Pump loop_;
  std::array<std::unique_ptr<server::Instance>, kServers> instances_;
  std::array<server::NetworkEngine*, kServers> engines_ = {};
  std::array<http::Handler, kServers> handlers_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Host> MakeSharedMemoryHost() {
  auto memory = std::make_shared<kv::SharedMemory>();
  return std::make_unique<SharedHost>(
      [memory] { return Result<std::unique_ptr<kv::Engine>>(memory->Attach()); });
}

std::unique_ptr<Host> MakeRadosHost(std::string ceph_conf) {
  kv_rados::RadosOptions options;
  options.ceph_conf = std::move(ceph_conf);
  options.pool = "stator";
  options.user = "stator";
  options.recent_micros = 0;  // a script reads from one server what another has written
  options.name_space = fmt::format("scripts-{:016x}", SystemSeed());
  return std::make_unique<SharedHost>([options] { return kv_rados::OpenRados(options); });
}

}  // namespace stator::scripts
