// Messages among processes: several engines of one store, some of them slow, gone, or forgotten by
// the OSDs.
#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <initializer_list>
#include <mutex>

#include "cluster_under_test.h"
#include "increments.h"
#include "kv_rados/layout.h"

namespace stator {
namespace {

using kv_rados::RadosOptions;
using testing::ElementsAre;

constexpr char kNotAll[] = "Not every process has acknowledged the message.";

// Records the messages that an engine receives. It acknowledges at once, or keeps the
// acknowledgements.
class Ear {
 public:
  explicit Ear(kv::Engine& engine, bool acknowledges = true) : acknowledges_(acknowledges) {
    engine.bulletin()->Listen([this](std::string_view message, UniqueFunction<void()> acknowledge) {
      std::lock_guard lock(mutex_);
      heard_.emplace_back(message);
      changed_.notify_all();
      if (acknowledges_) return acknowledge();
      kept_.push_back(std::move(acknowledge));
    });
  }

  std::vector<std::string> heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }
  void WaitFor(const std::string& message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [&] { return std::find(heard_.begin(), heard_.end(), message) != heard_.end(); });
  }
  bool Has(const std::string& message) {
    std::lock_guard lock(mutex_);
    return std::find(heard_.begin(), heard_.end(), message) != heard_.end();
  }
  void AcknowledgeKept() {
    std::lock_guard lock(mutex_);
    for (UniqueFunction<void()>& acknowledge : kept_) acknowledge();
    kept_.clear();
  }

 private:
  const bool acknowledges_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  std::vector<UniqueFunction<void()>> kept_;
};

std::string ErrorOf(const Status& status) { return status.ok() ? "" : status.error().message(); }

// Announces until all processes acknowledge, those with these ears among them, however long it
// takes. An engine that the OSDs forgot while they hung receives nothing until its watch is set up
// again.
void AnnounceUntilHeard(kv::Engine& engine, const std::string& message,
                        std::initializer_list<Ear*> ears) {
  while (!engine.bulletin()->Announce(message).ok() ||
         !std::all_of(ears.begin(), ears.end(), [&](Ear* ear) { return ear->Has(message); })) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

TEST(RadosBulletin, EveryProcessReceivesEveryMessage) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options), third = Open(options);
  ASSERT_TRUE(first && second && third);
  ASSERT_EQ(ErrorOf(first->bulletin()->Announce("nobody listens")), "");
  Ear one(*first), two(*second);
  EXPECT_EQ(ErrorOf(first->bulletin()->Announce("a")), "");
  EXPECT_EQ(ErrorOf(second->bulletin()->Announce(std::string("b\0c", 3))), "");
  EXPECT_EQ(ErrorOf(third->bulletin()->Announce("")), "") << "it need not listen to speak";
  // An acknowledged message was delivered.
  EXPECT_THAT(one.heard(), ElementsAre("a", std::string("b\0c", 3), ""));
  EXPECT_EQ(two.heard(), one.heard());
  Ear three(*third);
  std::vector<std::thread> speakers;
  for (kv::Engine* engine : {first.get(), second.get(), third.get()}) {
    speakers.emplace_back([engine] {
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(ErrorOf(engine->bulletin()->Announce(std::to_string(i))), "");
    });
  }
  for (std::thread& speaker : speakers) speaker.join();
  EXPECT_EQ(three.heard().size(), 60u);
  EXPECT_EQ(one.heard().size(), 63u);
}

TEST(RadosBulletin, MissingAcknowledgementIsReported) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  auto third = Open(options);
  ASSERT_TRUE(first && second && third);
  Ear one(*first), slow(*second, false);
  auto three = std::make_unique<Ear>(*third, false);
  EXPECT_EQ(ErrorOf(first->bulletin()->Announce("a")), kNotAll);
  EXPECT_THAT(slow.heard(), ElementsAre("a")) << "it was told, all the same";
  EXPECT_THAT(three->heard(), ElementsAre("a"));
  slow.AcknowledgeKept();  // too late: must do no harm

  second->bulletin()->Listen(nullptr);
  third.reset();
  EXPECT_EQ(ErrorOf(first->bulletin()->Announce("b")), "") << "neither listens any more";
  EXPECT_THAT(slow.heard(), ElementsAre("a"));
  EXPECT_THAT(one.heard(), ElementsAre("a", "b"));
  three->AcknowledgeKept();  // its engine is gone: must do no harm either

  Ear again(*second);
  EXPECT_EQ(ErrorOf(first->bulletin()->Announce("c")), "");
  EXPECT_THAT(again.heard(), ElementsAre("c"));
}

TEST(RadosBulletin, ListenerMayBlock) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  Ear one(*first), slow(*second, false);
  std::thread later([&] {
    slow.WaitFor("a");
    EXPECT_TRUE(kv::ApplyAndWait(*second, PutOne("a", "1"))
                    .ok());  // like a listener that has to read first
    slow.AcknowledgeKept();
  });
  EXPECT_EQ(ErrorOf(first->bulletin()->Announce("a")), "");
  later.join();
  std::string value;
  EXPECT_TRUE(*first->Get(kTablet, "a", kv::Tier::kAny, &value));
}

// The OSD of the bulletin dies and comes back empty: the watches are set up again.
TEST(RadosBulletin, WatchesSurviveDeathOfTheirOsd) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  Ear one(*first), two(*second);
  const std::string osd = PrimaryOf(options, kv_rados::kBulletinObject);
  ClusterUnderTest::Command("kill-osd " + osd);
  AnnounceUntilHeard(*first, "without it", {&two});
  ClusterUnderTest::Command("start-osd " + osd);
  ClusterUnderTest::Command("wait-clean");
  AnnounceUntilHeard(*second, "with it", {&one, &two});
}

// All OSDs hang: Announce reports that the message was not delivered, and engines can be closed.
TEST(RadosBulletin, FrozenOsds) {
  RadosOptions options = Impatient();
  options.watch_timeout_seconds = 2;
  const auto first = Open(options);
  auto second = Open(options), third = Open(options);
  ASSERT_TRUE(first && second && third);
  Ear one(*first), two(*second);
  ClusterUnderTest::ForAllOsds("freeze-osd");
  EXPECT_EQ(ErrorOf(first->bulletin()->Announce("a")), kNotAll);
  second.reset();
  Ear three(*third);  // its watch begins when the OSDs answer
  third.reset();
  ClusterUnderTest::ForAllOsds("thaw-osd");
  // once the OSDs have forgotten the engines that are gone
  AnnounceUntilHeard(*first, "b", {&one});
}

}  // namespace
}  // namespace stator
