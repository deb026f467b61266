#include "kv_rados/point_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"

namespace stator::kv_rados {
namespace {

using testing::ElementsAre;

constexpr kv::Tablet kTablet{kv::Space::kItems, 7};

using Cells = std::vector<std::string>;

FetchedPtr Answer(std::map<std::string, std::string> cells) {
  auto owner = std::make_shared<std::map<std::string, std::string>>(std::move(cells));
  auto fetched = std::make_shared<Fetched>();
  for (const auto& [cell, stored] : *owner) fetched->cells.emplace_back(cell, stored);
  fetched->owner = std::move(owner);
  return fetched;
}

FetchedPtr Failure(int result) {
  auto fetched = std::make_shared<Fetched>();
  fetched->result = result;
  return fetched;
}

// Answers when it is told to.
class HeldChannel final : public PointChannel {
 public:
  struct Operation {
    Cells cells;
    std::string header;
    UniqueFunction<void(FetchedPtr)> done;
  };

  FetchedPtr Read(const Part&, const KnownHeader&, const Cells&) override {
    ADD_FAILURE() << "nobody waits in these tests";
    return Failure(-EIO);
  }
  void ReadLater(const Part&, const KnownHeader& header, const Cells& cells,
                 UniqueFunction<void(FetchedPtr)> done) override {
    operations.push_back({cells, header.bytes, std::move(done)});
  }
  void Finish(size_t operation, const FetchedPtr& fetched) {
    operations.at(operation).done(fetched);
  }
  // Every cell holds its own name.
  void Finish(size_t operation) {
    std::map<std::string, std::string> cells;
    for (const std::string& cell : operations.at(operation).cells) cells[cell] = cell;
    Finish(operation, Answer(cells));
  }

  std::deque<Operation> operations;  // all that were sent
};

class PointReadsTest : public testing::Test {
 protected:
  ~PointReadsTest() override {
    for (size_t i = 0; i < channel_.operations.size(); ++i) {
      if (finished_.count(i) == 0) channel_.Finish(i, Failure(-EIO));
    }
  }
  // Notes the answer under the name.
  void Ask(const std::string& name, Cells cells) { Ask(name, std::move(cells), part_, header_); }
  void Ask(const std::string& name, Cells cells, const PartPtr& part, const HeaderPtr& header) {
    reads_.ReadLater(part, header, cells, [this, name, cells](const FetchedPtr& fetched) {
      std::string& text = answers_[name];
      if (fetched->result < 0) {
        text = std::strerror(-fetched->result);
        return;
      }
      fetched->ForEach(cells, [&](std::string_view cell, std::string_view stored) {
        EXPECT_EQ(cell, stored);
        return text += cell, true;
      });
    });
  }
  void Finish(size_t operation) {
    finished_.insert(operation);
    channel_.Finish(operation);
  }
  void Finish(size_t operation, int result) {
    finished_.insert(operation);
    channel_.Finish(operation, Failure(result));
  }
  const Cells& Sent(size_t operation) { return channel_.operations.at(operation).cells; }
  size_t sent() const { return channel_.operations.size(); }

  const PartPtr part_ = std::make_shared<Part>(kTablet, 0),
                other_part_ = std::make_shared<Part>(kTablet, 1);
  const HeaderPtr header_ = std::make_shared<KnownHeader>(KnownHeader{"header", {}}),
                  newer_header_ = std::make_shared<KnownHeader>(KnownHeader{"newer", {}});
  HeldChannel channel_;
  int64_t now_ = 0, patience_ = 20;
  PointReads reads_{channel_, [this] { return now_; },
                    [this](int64_t arrived) { return now_ - arrived > patience_; }};
  std::map<std::string, std::string> answers_;
  std::set<size_t> finished_;
};

TEST_F(PointReadsTest, WhoArrivesMeanwhileGoesTogetherIntoTheNext) {
  Ask("1", {"a"});
  Ask("2", {"b"});
  Ask("3", {"c"});
  Ask("4", {"a", "d"});
  Ask("5", {"c"});
  ASSERT_EQ(sent(), 2u) << "no more than two at a time";
  EXPECT_THAT(Sent(0), ElementsAre("a"));
  EXPECT_THAT(Sent(1), ElementsAre("b"));
  Finish(1);
  ASSERT_EQ(sent(), 3u);
  EXPECT_THAT(Sent(2), ElementsAre("c", "a", "d", "c"));
  EXPECT_THAT(answers_, ElementsAre(testing::Pair("2", "b")))
      << "the fourth does not take part in what was sent before it came";
  Ask("6", {"a"});
  Finish(0);
  ASSERT_EQ(sent(), 4u);
  EXPECT_THAT(Sent(3), ElementsAre("a"));
  Finish(2);
  Finish(3);
  EXPECT_THAT(answers_, ElementsAre(testing::Pair("1", "a"), testing::Pair("2", "b"),
                                    testing::Pair("3", "c"), testing::Pair("4", "ad"),
                                    testing::Pair("5", "c"), testing::Pair("6", "a")));
  EXPECT_EQ(sent(), 4u);
  EXPECT_EQ(reads_.reads(), 6u);
  EXPECT_EQ(reads_.operations(), 4u);
}

TEST_F(PointReadsTest, PartsAndHeadersAreNotMixed) {
  Ask("1", {"a"});
  Ask("2", {"b"});
  Ask("other part", {"x"}, other_part_, header_);
  ASSERT_EQ(sent(), 3u);
  EXPECT_THAT(Sent(2), ElementsAre("x"));
  Ask("3", {"c"});
  Ask("newer", {"d"}, part_, newer_header_);
  Ask("5", {"e"});
  Finish(0);
  Finish(1);
  ASSERT_EQ(sent(), 5u);
  EXPECT_THAT(Sent(3), ElementsAre("c"));
  EXPECT_THAT(Sent(4), ElementsAre("d"));
  EXPECT_EQ(channel_.operations[4].header, "newer");
  Finish(4, -ECANCELED);
  ASSERT_EQ(sent(), 6u);
  EXPECT_THAT(Sent(5), ElementsAre("e"));
  EXPECT_EQ(answers_["newer"], std::strerror(ECANCELED));
}

TEST_F(PointReadsTest, AnOperationIsNotTooLarge) {
  for (int i = 0; i < 100; ++i) part_->NoteBytes(kReadBytes / 4);
  ASSERT_EQ(part_->KeysFor(kReadBytes), 4u);
  Ask("1", {"a"});
  Ask("2", {"b"});
  Ask("3", {"c", "d", "e"});
  Ask("4", {"f", "g"});
  Ask("5", {"h", "i", "j", "k", "l"});
  Ask("6", {"m"});
  Finish(0);
  Finish(1);
  ASSERT_EQ(sent(), 4u);
  EXPECT_THAT(Sent(2), ElementsAre("c", "d", "e"));
  EXPECT_THAT(Sent(3), ElementsAre("f", "g"));
  Finish(2);
  Finish(3);
  ASSERT_EQ(sent(), 6u);
  EXPECT_THAT(Sent(4), ElementsAre("h", "i", "j", "k", "l")) << "what one asks for stays together";
  Finish(4);
  Finish(5);
  EXPECT_EQ(answers_["5"], "hijkl");
}

TEST_F(PointReadsTest, WhatTimesOutGoesAgainUntilItIsTooLate) {
  Ask("1", {"a"});
  now_ = 10;
  Ask("2", {"b"});
  Ask("3", {"c"});
  now_ = 15;
  Finish(0, -ETIMEDOUT);
  ASSERT_EQ(sent(), 3u);
  EXPECT_THAT(Sent(2), ElementsAre("a", "c")) << "again, with who waits";
  now_ = 25;
  Finish(2, -ETIMEDOUT);
  EXPECT_EQ(answers_["1"], std::strerror(ETIMEDOUT));
  ASSERT_EQ(sent(), 4u);
  EXPECT_THAT(Sent(3), ElementsAre("c"));
  Ask("4", {"d"});
  now_ = 50;
  Finish(3, -ETIMEDOUT);
  Finish(1);
  EXPECT_EQ(answers_["2"], "b") << "an answer is an answer";
  EXPECT_EQ(answers_["3"], std::strerror(ETIMEDOUT));
  EXPECT_EQ(answers_["4"], std::strerror(ETIMEDOUT)) << "it waited too long to be sent at all";
  ASSERT_EQ(sent(), 4u);
  Ask("5", {"e"});
  ASSERT_EQ(sent(), 5u);
  EXPECT_EQ(answers_.count("5"), 0u);
}

// Sixteen parts, and a window that has found out that it is better to be narrow.
const size_t kFew = Window::Width(1, 16);

class NarrowPointReadsTest : public PointReadsTest {
 protected:
  NarrowPointReadsTest() {
    patience_ = 100'000'000;
    for (uint32_t i = 0; i < 16; ++i) parts_.push_back(std::make_shared<Part>(kTablet, i));
    // For a while it is four, one by one or in bursts, so no trial is under way.
    for (int64_t since = 0; now_ < 2'000'000 || now_ - since < 100'000;) {
      AskAll();
      const bool narrow = under_way() == kFew;
      while (under_way() > 0) {
        now_ += narrow ? 500 : 4000;
        for (size_t end = sent(); first_ < end; ++first_) Finish(first_);
      }
      if (!narrow) since = now_;
    }
    answers_.clear();
  }
  void AskAll() {
    for (size_t i = 0; i < parts_.size(); ++i) AskPart(i, "of " + std::to_string(i));
  }
  void AskPart(size_t part, const std::string& cell) { Ask(cell, {cell}, parts_[part], header_); }
  void FinishNext() { Finish(first_++); }
  size_t under_way() const { return sent() - first_; }  // operations end in their order here

  std::vector<PartPtr> parts_;
  size_t first_ = 0;
};

TEST_F(NarrowPointReadsTest, PartsTakeTurnsAndTheirReadsGather) {
  const size_t before = first_;
  AskAll();
  ASSERT_EQ(under_way(), kFew);
  AskPart(1, "late");
  AskPart(5, "more");
  EXPECT_EQ(under_way(), kFew);
  now_ += 500;
  for (int i = 0; i < 14; ++i) FinishNext();
  EXPECT_THAT(Sent(before), ElementsAre("of 0"));
  EXPECT_THAT(Sent(before + 1), ElementsAre("of 1")) << "what was sent before is not joined";
  EXPECT_THAT(Sent(before + 4), ElementsAre("of 5", "more"))
      << "it carries more than those that stood before it";
  EXPECT_THAT(Sent(before + 5), ElementsAre("of 4"));
  EXPECT_THAT(Sent(before + 15), ElementsAre("of 15"));
  while (under_way() > 0) FinishNext();
  ASSERT_EQ(sent(), before + 17);
  EXPECT_THAT(Sent(before + 16), ElementsAre("late")) << "its part stood in line behind the others";
  EXPECT_EQ(answers_.size(), 18u);
  EXPECT_EQ(answers_["more"], "more");
}

TEST_F(NarrowPointReadsTest, GoesOnWithoutWhatHangs) {
  AskAll();
  ASSERT_EQ(under_way(), kFew);
  now_ += Window::kPatienceMicros / 2;
  reads_.GoOn();
  EXPECT_EQ(under_way(), kFew);
  now_ += 2 * Window::kPatienceMicros;
  reads_.GoOn();
  EXPECT_EQ(under_way(), 2 * kFew);
  while (under_way() > 0) FinishNext();
  EXPECT_EQ(answers_.size(), 16u);
}

TEST_F(NarrowPointReadsTest, WhoWaitedTooLongIsNotSent) {
  AskAll();
  now_ += patience_ + 1;
  AskPart(0, "later");
  while (under_way() > 0) FinishNext();
  EXPECT_EQ(answers_["of 0"], "of 0");
  EXPECT_EQ(answers_["of 15"], std::strerror(ETIMEDOUT));
  EXPECT_EQ(answers_["later"], "later");
  EXPECT_EQ(answers_.size(), 17u);
}

// A store that changes, and operations that take any time and see it at any moment of theirs.
class BusyChannel final : public PointChannel {
 public:
  explicit BusyChannel(uint64_t seed) : random_(seed), thread_([this] { Run(); }) {}
  ~BusyChannel() override {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      wake_.notify_all();
    }
    thread_.join();
  }

  FetchedPtr Read(const Part&, const KnownHeader&, const Cells& cells) override {
    ++direct;
    std::this_thread::yield();
    return See(cells);
  }
  void ReadLater(const Part&, const KnownHeader&, const Cells& cells,
                 UniqueFunction<void(FetchedPtr)> done) override {
    MutexLock lock(mutex_);
    pending_.push_back({cells, std::move(done)});
    wake_.notify_all();
  }
  // Adds one to what each cell holds, and returns how much that is.
  uint64_t Write() { return ++value_; }
  uint64_t value() const { return value_; }

  std::atomic<int> direct = 0;

 private:
  struct Pending {
    Cells cells;
    UniqueFunction<void(FetchedPtr)> done;
  };
  FetchedPtr See(const Cells& cells) const {
    std::map<std::string, std::string> seen;
    const std::string now = std::to_string(value_);
    for (const std::string& cell : cells) seen[cell] = now;
    return Answer(seen);
  }
  void Run() {
    while (true) {
      std::optional<Pending> next;
      {
        std::unique_lock<Mutex> lock(mutex_);
        wake_.wait(lock, [this]() NO_THREAD_SAFETY_ANALYSIS { return stop_ || !pending_.empty(); });
        if (pending_.empty()) return;
        const auto at =
            pending_.begin() + static_cast<std::ptrdiff_t>(random_.Below(pending_.size()));
        next = std::move(*at);
        pending_.erase(at);
      }
      const FetchedPtr seen = See(next->cells);
      for (uint64_t i = random_.Below(3); i > 0; --i) std::this_thread::yield();
      next->done(random_.Below(10) == 0 ? Failure(-ETIMEDOUT) : seen);
    }
  }

  SeededRandom random_;
  std::atomic<uint64_t> value_ = 0;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Pending> pending_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

TEST(PointReads, AReadSeesWhatWasWrittenBeforeIt) {
  const uint64_t seed = SystemSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  BusyChannel channel(seed);
  const PartPtr part = std::make_shared<Part>(kTablet, 0);
  const HeaderPtr header = std::make_shared<KnownHeader>();
  std::atomic<uint64_t> answered = 0;
  uint64_t operations = 0, reads_made = 0;
  {
    PointReads reads(
        channel, [] { return int64_t{0}; }, [](int64_t) { return false; });
    reads.StartWatching();
    std::vector<std::thread> readers;
    for (int t = 0; t < 8; ++t) {
      readers.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          const Cells cells = {"cell" + std::to_string(t), "shared"};
          const uint64_t before = channel.Write();
          const auto check = [&channel, &answered, cells, before](const FetchedPtr& fetched) {
            ASSERT_EQ(fetched->result, 0);
            std::vector<std::string> seen;
            fetched->ForEach(cells, [&](auto, std::string_view stored) {
              return seen.emplace_back(stored), true;
            });
            ASSERT_EQ(seen.size(), 2u);
            EXPECT_EQ(seen[0], seen[1]) << "not from one state";
            EXPECT_GE(std::stoull(seen[0]), before);
            EXPECT_LE(std::stoull(seen[0]), channel.value());
            ++answered;
          };
          if (t % 4 == 0) {
            reads.ReadLater(part, header, cells, check);
          } else {
            check(reads.ReadAndWait(part, header, cells));
          }
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
    reads.Stop();
    operations = reads.operations();
    reads_made = reads.reads();
  }
  EXPECT_EQ(answered, 8u * 200);
  EXPECT_EQ(reads_made, 8u * 200);
  EXPECT_LT(operations, reads_made) << "none were combined";
}

}  // namespace
}  // namespace stator::kv_rados
