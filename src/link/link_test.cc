// The two ends of a connection, on a clock that the tests move, joined by strings.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "link/asker.h"
#include "link/channel.h"
#include "link/leases.h"
#include "link/owner.h"

namespace stator::link {
namespace {

constexpr int64_t kTimeout = 200'000;
constexpr int64_t kPatience = 5 * kTimeout;
const std::string kAskerId = "aaaaaaaaaaaaaaaa";
const std::string kOwnerId = "bbbbbbbbbbbbbbbb";
const std::string kSecret = "the secret of a store, 32 bytes.";

struct Got {
  std::vector<Answer> answers;
  AnswerDone Done() {
    return [this](Answer answer) { answers.push_back(std::move(answer)); };
  }
};

class LinkTest : public testing::Test {
 protected:
  LinkTest() { Connect(); }

  void Connect(const std::string& asker_secret = kSecret, const std::string& expected = kOwnerId) {
    AskerOptions asking;
    asking.id = kAskerId;
    asking.secret = asker_secret;
    asking.timeout_micros = kTimeout;
    asking.patience_micros = kPatience;
    asking.most_requests = 4;
    asking.most_bytes = 1000;
    OwnerOptions owning;
    owning.id = kOwnerId;
    owning.secret = kSecret;
    owning.most_requests = 3;
    asker = std::make_unique<Asker>(asking, expected, clock, random);
    owner = std::make_unique<Owner>(owning, leases.Add(), clock, random);
  }

  Status ToOwner() { return owner->Receive(std::exchange(asker->output(), {}), &requests); }
  Status ToAsker() {
    Asker::Finished finished;
    const Status received = asker->Receive(std::exchange(owner->output(), {}), &finished);
    for (auto& [done, answer] : finished) done(std::move(answer));
    return received;
  }
  // Delivers everything that is on its way.
  void Deliver() {
    while (!asker->output().empty() || !owner->output().empty()) {
      ASSERT_TRUE(ToOwner().ok());
      ASSERT_TRUE(ToAsker().ok());
    }
  }
  void WarmUp() {
    Deliver();
    // The first pong tells the owner's time, the second ping repeats it.
    clock.AdvanceMicros(kTimeout / 4);
    AnswerDone done = got.Done();
    ASSERT_TRUE(asker->Tick().ok());
    Deliver();
    ASSERT_TRUE(asker->warm());
  }
  bool Ask(std::string_view text) {
    AnswerDone done = got.Done();
    return asker->Ask(text, done);
  }
  void Break() {
    Asker::Finished finished;
    asker->Break(&finished);
    for (auto& [done, answer] : finished) done(std::move(answer));
  }

  ManualClock clock;
  access::SystemSecureRandom random;
  Leases leases{clock};
  std::unique_ptr<Asker> asker;
  std::unique_ptr<Owner> owner;
  std::vector<Owner::Request> requests;
  Got got;
};

TEST_F(LinkTest, RequestIsAnswered) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].bytes, "put");
  EXPECT_EQ(owner->asker(), kAskerId);
  EXPECT_FALSE(requests[0].permit->failed);
  owner->Reply(requests[0].number, false, "done");
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(got.answers[0].outcome, Outcome::kAnswered);
  EXPECT_EQ(got.answers[0].bytes, "done");
  EXPECT_EQ(asker->waiting(), 0u);
}

TEST_F(LinkTest, FramesMayComeInPieces) {
  WarmUp();
  ASSERT_TRUE(Ask("in pieces"));
  const std::string bytes = std::exchange(asker->output(), {});
  for (const char c : bytes) {
    ASSERT_TRUE(requests.empty());
    ASSERT_TRUE(owner->Receive({&c, 1}, &requests).ok());
  }
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].bytes, "in pieces");
}

TEST_F(LinkTest, AnotherSecretIsRefusedByBothSides) {
  Connect("some other secret");
  ASSERT_TRUE(ToOwner().ok());  // the hello
  ASSERT_TRUE(ToAsker().ok());
  EXPECT_FALSE(ToOwner().ok());  // the first ping does not open
  EXPECT_FALSE(owner->known());
  EXPECT_FALSE(asker->known());
}

TEST_F(LinkTest, RecordingOfAConnectionIsRefused) {
  std::string recording = asker->output();
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_TRUE(ToAsker().ok());
  recording += asker->output();
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_TRUE(owner->known());
  Connect();
  EXPECT_FALSE(owner->Receive(recording, &requests).ok());
  EXPECT_FALSE(owner->known());
}

TEST_F(LinkTest, ChangedByteIsRefused) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  asker->output().back() ^= 1;
  EXPECT_FALSE(ToOwner().ok());
  EXPECT_TRUE(requests.empty());
}

TEST_F(LinkTest, FrameBeyondTheLimitIsRefusedByItsLength) {
  WarmUp();
  std::string length;
  AppendNumber(100u << 20, 4, &length);
  EXPECT_FALSE(owner->Receive(length, &requests).ok());
}

TEST_F(LinkTest, AnotherProcessAtTheAddressIsNotAsked) {
  Connect(kSecret, "cccccccccccccccc");
  ASSERT_TRUE(ToOwner().ok());
  EXPECT_FALSE(ToAsker().ok());
}

TEST_F(LinkTest, AnotherProtocolIsRefused) {
  std::string hello = asker->output();
  hello[8] = kProtocolVersion + 1;
  EXPECT_FALSE(owner->Receive(hello, &requests).ok());
  Connect();
  EXPECT_FALSE(owner->Receive("GET / HTTP/1.1\r\n", &requests).ok());
}

TEST_F(LinkTest, SilentOwnerIsNotAsked) {
  WarmUp();
  clock.AdvanceMicros(kTimeout / 2 + 1);
  EXPECT_FALSE(Ask("put"));
  // The refusal has asked for a sign of life.
  Deliver();
  EXPECT_TRUE(Ask("put"));
}

TEST_F(LinkTest, OwnerThatDoesNotAnswerPingsIsGivenUp) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  const int64_t asked = clock.TicksMicros();
  while (asker->Tick().ok()) {
    ASSERT_LE(clock.TicksMicros() - asked, 2 * kPatience);
    clock.AdvanceMicros(10'000);
  }
  EXPECT_GE(clock.TicksMicros() - asked, kPatience);
  EXPECT_GE(clock.TicksMicros(), asker->BreakTime());
  Break();
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(got.answers[0].outcome, Outcome::kUnknown);
}

// It is asked nothing meanwhile, and tells how each request ended: those that it had begun, and
// those that it refused because their permit was over.
TEST_F(LinkTest, OwnerThatWasOnlySlowIsHeard) {
  WarmUp();
  ASSERT_TRUE(Ask("begun"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_TRUE(Ask("on its way"));
  for (int64_t slept = 0; slept < 3 * kTimeout; slept += 10'000) {
    clock.AdvanceMicros(10'000);
    ASSERT_TRUE(asker->Tick().ok());
  }
  EXPECT_FALSE(Ask("another"));
  owner->Reply(requests[0].number, false, "done");
  ASSERT_TRUE(ToOwner().ok());
  EXPECT_EQ(requests.size(), 1u);
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 2u);
  EXPECT_EQ(got.answers[0].bytes, "done");
  EXPECT_EQ(got.answers[1].outcome, Outcome::kRefused);
  Deliver();
  EXPECT_TRUE(Ask("another"));
}

TEST_F(LinkTest, AskerThatSleptDoesNotBlameTheOwner) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  clock.AdvanceMicros(kTimeout / 4);
  ASSERT_TRUE(asker->Tick().ok());
  clock.AdvanceMicros(10 * kTimeout);
  EXPECT_TRUE(asker->Tick().ok());
}

// When the asker gives up, the owner's permit has ended, however late each frame was.
TEST_F(LinkTest, PermitEndsBeforeTheAskerGivesUp) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_EQ(requests.size(), 1u);
  while (asker->Tick().ok()) {
    // Pings reach the owner, but none of its answers comes back.
    ASSERT_TRUE(ToOwner().ok());
    clock.AdvanceMicros(5'000);
  }
  leases.EndLate();
  EXPECT_TRUE(requests[0].permit->failed);
}

TEST_F(LinkTest, PermitEndsBeforeABrokenConnectionIsGivenUp) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  ASSERT_TRUE(ToOwner().ok());
  clock.AdvanceMicros(asker->BreakTime() - clock.TicksMicros());
  leases.EndLate();
  EXPECT_TRUE(requests[0].permit->failed);
}

TEST_F(LinkTest, PermitHoldsWhileBothAreHeard) {
  WarmUp();
  ASSERT_TRUE(Ask("slow"));
  for (int i = 0; i < 100; ++i) {
    clock.AdvanceMicros(kTimeout / 8);
    ASSERT_TRUE(asker->Tick().ok());
    Deliver();
    leases.EndLate();
    ASSERT_EQ(requests.size(), 1u);
    ASSERT_FALSE(requests[0].permit->failed);
  }
}

TEST_F(LinkTest, PermitEndsWithTheConnection) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  ASSERT_TRUE(ToOwner().ok());
  owner.reset();
  EXPECT_TRUE(requests[0].permit->failed);
}

TEST_F(LinkTest, RequestThatComesLateIsRefused) {
  WarmUp();
  ASSERT_TRUE(Ask("put"));
  clock.AdvanceMicros(kTimeout);  // the owner has slept
  ASSERT_TRUE(ToOwner().ok());
  EXPECT_TRUE(requests.empty());
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(got.answers[0].outcome, Outcome::kRefused);
}

TEST_F(LinkTest, LeaseThatEndedIsReplacedByANewOne) {
  WarmUp();
  ASSERT_TRUE(Ask("one"));
  ASSERT_TRUE(ToOwner().ok());
  clock.AdvanceMicros(kTimeout);
  leases.EndLate();
  ASSERT_TRUE(ToAsker().ok());
  EXPECT_FALSE(Ask("not yet"));
  Deliver();
  ASSERT_TRUE(Ask("two"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0].permit->failed);
  EXPECT_FALSE(requests[1].permit->failed);
}

TEST_F(LinkTest, RequestsBeyondTheLimitsAreNotSent) {
  WarmUp();
  EXPECT_FALSE(Ask(std::string(1001, 'x')));
  EXPECT_TRUE(Ask(std::string(900, 'x')));
  EXPECT_FALSE(Ask(std::string(101, 'x')));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Ask("x"));
  EXPECT_FALSE(Ask("x"));
  // The owner takes three.
  ASSERT_TRUE(ToOwner().ok());
  EXPECT_EQ(requests.size(), 3u);
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(got.answers[0].outcome, Outcome::kRefused);
}

TEST_F(LinkTest, OwnerThatStopsRefuses) {
  WarmUp();
  owner->BeginStop();
  ASSERT_TRUE(Ask("put"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(got.answers[0].outcome, Outcome::kRefused);
}

TEST_F(LinkTest, GoodbyeRefusesWhatHasNotBegun) {
  WarmUp();
  ASSERT_TRUE(Ask("begun"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_TRUE(Ask("on its way"));
  owner->BeginStop();
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(got.answers[0].outcome, Outcome::kRefused);
  EXPECT_FALSE(asker->known());
  EXPECT_FALSE(Ask("too late"));
  ASSERT_TRUE(ToOwner().ok());
  ASSERT_EQ(requests.size(), 1u) << "what comes behind the goodbye is not begun";
  owner->Reply(requests[0].number, false, "done");
  ASSERT_TRUE(ToAsker().ok());
  ASSERT_EQ(got.answers.size(), 2u);
  EXPECT_EQ(got.answers[1].bytes, "done");
  EXPECT_EQ(asker->waiting(), 0u);
}

TEST_F(LinkTest, IdleLinkPingsOnceASecond) {
  WarmUp();
  int pings = 0;
  for (int i = 0; i < 100; ++i) {
    clock.AdvanceMicros(100'000);
    ASSERT_TRUE(asker->Tick().ok());
    pings += asker->output().empty() ? 0 : 1;
    Deliver();
  }
  EXPECT_GE(pings, 9);
  EXPECT_LE(pings, 11);
}

TEST_F(LinkTest, TimeThatTheOwnerHasNotToldIsNoLease) {
  WarmUp();
  Channel forger(Side::kAsker, kSecret, {kAskerId, 200}, 1000, random);
  OwnerOptions options;
  options.id = kOwnerId;
  options.secret = kSecret;
  Owner other(options, leases.Add(), clock, random);
  ASSERT_TRUE(other.Receive(std::exchange(forger.output(), {}), &requests).ok());
  std::vector<std::string> payloads;
  ASSERT_TRUE(forger.Receive(std::exchange(other.output(), {}), &payloads).ok());
  std::string ping;
  AppendNumber(1, 1, &ping);
  AppendNumber(static_cast<uint64_t>(clock.TicksMicros()) + 1, 8, &ping);
  forger.Send(ping);
  EXPECT_FALSE(other.Receive(forger.output(), &requests).ok());
}

}  // namespace
}  // namespace stator::link
