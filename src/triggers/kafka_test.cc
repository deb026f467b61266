#include "triggers/kafka.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "triggers/kafka_api.h"

namespace stator::triggers {
namespace {

class KafkaPropertiesTest : public testing::Test {
 protected:
  KafkaPropertiesTest()
      : path_(std::filesystem::temp_directory_path() /
              ("stator_kafka_" + std::to_string(::getpid()) + ".properties")) {}
  ~KafkaPropertiesTest() override { std::filesystem::remove(path_); }
  Result<std::vector<std::pair<std::string, std::string>>> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadKafkaProperties(path_);
  }

  const std::string path_;
};

TEST_F(KafkaPropertiesTest, AreRead) {
  const auto properties =
      Read("# a comment\n\n security.protocol = ssl \r\nsasl.password=a=b#c\nssl.ca.location=\n");
  ASSERT_TRUE(properties.ok());
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(*properties, (std::vector<Pair>{{"security.protocol", "ssl"},
                                            {"sasl.password", "a=b#c"},
                                            {"ssl.ca.location", ""}}));
  EXPECT_TRUE(Read("")->empty());
}

TEST_F(KafkaPropertiesTest, AreRefusedWithoutTheirValues) {
  for (const char* text : {"secret", "=secret", "acks=secret", "bootstrap.servers=secret",
                           "queue.buffering.max.kbytes=secret", "plugin.library.paths=secret",
                           "max.in.flight=secret", "debug = secret"}) {
    const auto refused = Read(std::string("ssl.ca.location=x\n") + text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().message().find("secret"), std::string::npos) << text;
    EXPECT_NE(refused.error().message().find("line 2"), std::string::npos) << text;
  }
  EXPECT_FALSE(ReadKafkaProperties("/no/such/file").ok());
}

TEST(Kafka, NamesOfTopics) {
  for (const char* name : {"a", "a.b_c-D1", "..."}) EXPECT_TRUE(IsTopicName(name)) << name;
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a b"), std::string("a/b"), std::string(250, 'a')})
    EXPECT_FALSE(IsTopicName(name)) << name;
}

TEST(Kafka, AFunctionNeedsTheLibrary) {
  FunctionSettings function;
  function.kind = FunctionSettings::Kind::kKafka;
  function.brokers = "127.0.0.1:1";
  function.topic = "t";
  const Status checked = CheckKafka(function);
  if (!LoadKafka().ok()) {
    EXPECT_NE(checked.error().message().find("librdkafka"), std::string::npos);
    GTEST_SKIP() << checked.error().message();
  }
  EXPECT_TRUE(checked.ok());
  function.properties = {{"no.such.property", "secret"}};
  EXPECT_EQ(CheckKafka(function).error().message(),
            "the property no.such.property of Kafka is refused");
  function.properties = {{"security.protocol", "secret"}};
  EXPECT_EQ(CheckKafka(function).error().message(),
            "the property security.protocol of Kafka is refused");
}

}  // namespace
}  // namespace stator::triggers
