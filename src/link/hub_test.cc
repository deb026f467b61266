// Hubs that talk over sockets of this machine.
#include "link/hub.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <future>

namespace stator::link {
namespace {

const std::string kSecret = "the secret of a store, 32 bytes.";

int ListenAnywhere(uint16_t* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd, 16), 0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  *port = ntohs(address.sin_port);
  return fd;
}

struct Process {
  explicit Process(const std::string& name, const std::string& secret = kSecret)
      : id(std::string(kIdBytes, name[0])) {
    Hub::Options options;
    options.asker.id = options.owner.id = id;
    options.asker.secret = options.owner.secret = secret;
    // Longer than any pause of a busy machine: these tests are not about time.
    options.asker.timeout_micros = 60'000'000;
    options.listening = {ListenAnywhere(&port)};
    Result<std::unique_ptr<Hub>> opened =
        Hub::Open(std::move(options), clock, random,
                  [this](const std::string& asker, std::string request, kv::FatePtr permit,
                         Hub::Reply reply) {
                    EXPECT_TRUE(hub->IsCurrent());
                    if (request == "hold") {
                      held = std::move(reply);
                      held_permit = std::move(permit);
                      holds.set_value();
                      return;
                    }
                    reply(request == "refuse", asker.substr(0, 1) + " asked " + request);
                  });
    hub = std::move(*opened);
    hub->Start();
  }
  Peer peer() const { return {id, "127.0.0.1", port}; }
  void AwaitWarm() {
    while (hub->Warm().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Asks until the question is taken.
  Answer Ask(const std::string& to, const std::string& text) {
    auto promise = std::make_shared<std::promise<Answer>>();
    std::future<Answer> future = promise->get_future();
    AnswerDone done = [promise](Answer answer) { promise->set_value(std::move(answer)); };
    while (!hub->Ask(to, text, done)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return future.get();
  }

  const std::string id;
  uint16_t port = 0;
  SystemClock clock;
  access::SystemSecureRandom random;
  Hub::Reply held;
  kv::FatePtr held_permit;
  std::promise<void> holds;
  std::unique_ptr<Hub> hub;
};

TEST(Hub, ProcessesAskEachOther) {
  Process a("a"), b("b");
  a.hub->SetPeers({b.peer()});
  b.hub->SetPeers({a.peer()});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.Ask(b.id, "put").bytes, "a asked put");
    EXPECT_EQ(b.Ask(a.id, "put").bytes, "b asked put");
  }
  EXPECT_EQ(a.Ask(b.id, "refuse").outcome, Outcome::kRefused);
  const std::string large(500'000, 'x');
  EXPECT_EQ(a.Ask(b.id, large).bytes, "a asked " + large);
  EXPECT_EQ(a.hub->Statistics().asked, 102u);
  EXPECT_EQ(b.hub->Statistics().served, 102u);
}

TEST(Hub, OwnerThatEndsLeavesAnUnknownOutcome) {
  auto a = std::make_unique<Process>("a");
  Process b("b");
  a->hub->SetPeers({b.peer()});
  a->AwaitWarm();
  std::promise<Answer> promise;
  AnswerDone done = [&](Answer answer) { promise.set_value(std::move(answer)); };
  while (!a->hub->Ask(b.id, "hold", done))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  b.holds.get_future().wait();
  // Ends with the asking process, which does not wait.
  a->hub->Stop();
  EXPECT_EQ(promise.get_future().get().outcome, Outcome::kUnknown);
  while (!b.held_permit->failed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  b.held(false, "nobody waits");
}

TEST(Hub, StopWaitsForWhatRunsForOthers) {
  std::promise<Answer> promise;
  Process a("a"), b("b");
  a.hub->SetPeers({b.peer()});
  AnswerDone done = [&](Answer answer) { promise.set_value(std::move(answer)); };
  while (!a.hub->Ask(b.id, "hold", done)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  b.holds.get_future().wait();
  std::thread stops([&] { b.hub->Stop(); });
  b.held(false, "late");
  stops.join();
  EXPECT_EQ(promise.get_future().get().bytes, "late");
}

TEST(Hub, ProcessWithAnotherSecretIsNotAsked) {
  Process a("a"), b("b", "some other secret"), c("c");
  a.hub->SetPeers({b.peer(), c.peer()});
  EXPECT_EQ(a.Ask(c.id, "put").bytes, "a asked put");
  EXPECT_EQ(a.hub->Warm(), std::vector<std::string>{c.id});
  AnswerDone done = [](Answer) {};
  EXPECT_FALSE(a.hub->Ask(b.id, "put", done));
}

TEST(Hub, PeerThatHasLeftIsNotAsked) {
  Process a("a"), b("b");
  a.hub->SetPeers({b.peer()});
  EXPECT_EQ(a.Ask(b.id, "put").outcome, Outcome::kAnswered);
  a.hub->SetPeers({});
  AnswerDone done = [](Answer) {};
  EXPECT_FALSE(a.hub->Ask(b.id, "put", done));
  EXPECT_TRUE(a.hub->Warm().empty());
}

}  // namespace
}  // namespace stator::link
