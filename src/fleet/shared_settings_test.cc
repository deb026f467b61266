#include "fleet/shared_settings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "kv/shared_memory.h"

namespace stator::fleet {
namespace {

struct Process {
  explicit Process(kv::SharedMemory& store) : engine(store.Attach()) {
    settings.Follow("dial/",
                    [this](const std::string& name, const std::optional<std::string>& text) {
                      dial[name] = text.value_or("none");
                      ++told;
                    });
    Listen();
  }
  ~Process() {
    Freeze();
    messages.Stop();
  }
  void Listen() {
    engine->bulletin()->Listen(
        [this](std::string_view message, UniqueFunction<void()> acknowledge) {
          messages.Receive(message, std::move(acknowledge));
        });
  }
  void Freeze() { engine->bulletin()->Listen(nullptr); }
  Status Set(const std::string& name, const std::string& text) {
    return settings.Change("dial/", [&](SharedSettings::Texts* texts) {
      (*texts)[name] = text;
      return OkStatus();
    });
  }

  const std::unique_ptr<kv::Engine> engine;
  Messages messages{*engine->bulletin()};
  SharedSettings settings{*engine, messages};
  std::map<std::string, std::string> dial;
  std::atomic<int> told = 0;
};

class SharedSettingsTest : public testing::Test {
 protected:
  SharedSettingsTest() { SetLogLevel(LogLevel::kOff); }
  ~SharedSettingsTest() override { SetLogLevel(LogLevel::kInfo); }
  kv::SharedMemory store_;
};

TEST_F(SharedSettingsTest, AllProcessesFollowBeforeChangeReturns) {
  Process a(store_), b(store_);
  ASSERT_TRUE(a.Set("dial/x", "1").ok());
  EXPECT_EQ(a.dial, (std::map<std::string, std::string>{{"dial/x", "1"}}));
  EXPECT_EQ(b.dial, a.dial);
  ASSERT_TRUE(b.Set("dial/y", "2").ok());
  EXPECT_EQ(a.dial.at("dial/y"), "2");
  EXPECT_EQ(a.told, 2);
  EXPECT_EQ(b.told, 2) << "each is told of what has changed only";
  ASSERT_TRUE(a.settings
                  .Change("dial/",
                          [](SharedSettings::Texts* texts) {
                            EXPECT_EQ(texts->size(), 2u);
                            texts->clear();
                            return OkStatus();
                          })
                  .ok());
  EXPECT_EQ(b.dial.at("dial/x"), "none");
  EXPECT_EQ(b.dial.at("dial/y"), "none");
  ASSERT_TRUE(a.Set("dial/y", "2").ok());
  EXPECT_EQ(b.dial.at("dial/y"), "2");
  EXPECT_TRUE(a.settings
                  .Change("other/",
                          [](SharedSettings::Texts* texts) {
                            EXPECT_TRUE(texts->empty());
                            (*texts)["other/z"] = "1";
                            return OkStatus();
                          })
                  .ok());
  EXPECT_EQ(b.dial.size(), 2u) << "nobody asked for it";
}

TEST_F(SharedSettingsTest, RefusedChangeLeavesSettingsUnchanged) {
  Process a(store_);
  ASSERT_TRUE(a.Set("dial/x", "1").ok());
  const Status refused = a.settings.Change("dial/", [](SharedSettings::Texts* texts) {
    texts->clear();
    return ValidationError("no");
  });
  EXPECT_EQ(refused.error().message(), "no");
  ASSERT_TRUE(a.settings.Refresh().ok());
  EXPECT_EQ(a.dial.at("dial/x"), "1");
}

TEST_F(SharedSettingsTest, LateProcessAndLostMessageAreCoveredByRefresh) {
  Process a(store_), b(store_);
  b.Freeze();
  ASSERT_TRUE(a.Set("dial/x", "1").ok());
  EXPECT_TRUE(b.dial.empty());
  ASSERT_TRUE(b.settings.Refresh().ok());
  EXPECT_EQ(b.dial.at("dial/x"), "1");
  Process c(store_);
  ASSERT_TRUE(c.settings.Refresh().ok());
  EXPECT_EQ(c.dial.at("dial/x"), "1");
  ASSERT_TRUE(c.settings.Refresh().ok());
  EXPECT_EQ(c.told, 1);
}

TEST_F(SharedSettingsTest, ConcurrentChangesAreBothMade) {
  Process a(store_), b(store_);
  const auto count = [](Process& process) {
    for (int i = 0; i < 100; ++i) {
      const Status changed = process.settings.Change("dial/", [](SharedSettings::Texts* texts) {
        std::string& text = (*texts)["dial/n"];
        text = std::to_string(text.empty() ? 1 : std::stoi(text) + 1);
        return OkStatus();
      });
      ASSERT_TRUE(changed.ok()) << changed.error().message();
    }
  };
  std::thread other([&] { count(b); });
  count(a);
  other.join();
  EXPECT_EQ(a.dial.at("dial/n"), "200");
  EXPECT_EQ(b.dial.at("dial/n"), "200");
}

TEST(MessagesTest, TopicsAndTheirTexts) {
  kv::SharedMemory store;
  const auto engine = store.Attach();
  Messages messages(*engine->bulletin());
  std::string heard;
  messages.On("shout", [&](std::string_view text) { heard = std::string(text); });
  int acknowledged = 0;
  engine->bulletin()->Listen([&](std::string_view message, UniqueFunction<void()> acknowledge) {
    ++acknowledged;
    messages.Receive(message, std::move(acknowledge));
  });
  EXPECT_TRUE(messages.Announce("shout", "hello all").ok());
  EXPECT_EQ(heard, "hello all");
  EXPECT_TRUE(messages.Announce("shout").ok());
  EXPECT_EQ(heard, "");
  EXPECT_TRUE(messages.Announce("whisper", "x").ok()) << "what nobody asked for is acknowledged";
  EXPECT_EQ(acknowledged, 3);
  messages.Stop();
  EXPECT_TRUE(messages.Announce("shout", "late").ok());
  EXPECT_EQ(heard, "");
  engine->bulletin()->Listen(nullptr);
}

}  // namespace
}  // namespace stator::fleet
