// Brokers of Kafka for tests: librdkafka's mock cluster in a process of its own, whose address is
// the first line on standard output. Each line on standard input is a command, and is answered with
// a line of JSON:
//
//   topic NAME PARTITIONS      makes a topic
//   down BROKER | up BROKER    a broker refuses connections, or takes them again
//   slow BROKER MILLIS         each answer of a broker comes later
//   fail COUNT ERROR           the next COUNT requests of Produce end with that error number
//   read NAME PARTITIONS       all of a topic, by partition:
//                              {"messages":[{"partition":0,"key":"...","value":"..."},...]}
//
// It ends with its standard input.
#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace {

constexpr int kBrokers = 3;
constexpr int16_t kProduce = 0;  // of Kafka's protocol
constexpr int kPollMillis = 100;

rd_kafka_t* New(rd_kafka_type_t type,
                const std::vector<std::pair<const char*, std::string>>& settings) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> why{};
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
      std::cerr << why.data() << '\n';
      std::exit(2);
    }
  }
  rd_kafka_t* const made = rd_kafka_new(type, conf, why.data(), why.size());
  if (made == nullptr) {
    std::cerr << why.data() << '\n';
    std::exit(2);
  }
  return made;
}

std::string Read(const std::string& brokers, const std::string& topic, int partitions) {
  rd_kafka_t* const consumer = New(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers},
                                                       {"group.id", "reader"},
                                                       {"enable.partition.eof", "true"},
                                                       {"enable.auto.commit", "false"},
                                                       {"fetch.wait.max.ms", "50"},
                                                       {"log_level", "0"}});
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(partitions);
  for (int partition = 0; partition < partitions; ++partition)
    rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(consumer, list);
  rd_kafka_topic_partition_list_destroy(list);
  stator::JsonWriter json;
  json.Open('{').Key("messages").Open('[');
  for (int ended = 0; ended < partitions;) {
    rd_kafka_message_t* const message = rd_kafka_consumer_poll(consumer, kPollMillis);
    if (message == nullptr) continue;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ended;
    if (message->err == 0) {
      json.Open('{').Key("partition").Whole(message->partition);
      json.Field("key", std::string_view(static_cast<const char*>(message->key), message->key_len));
      json.Field("value",
                 std::string_view(static_cast<const char*>(message->payload), message->len))
          .Close('}');
    }
    rd_kafka_message_destroy(message);
  }
  rd_kafka_consumer_close(consumer);
  rd_kafka_destroy(consumer);
  json.Close(']').Close('}');
  std::string text = json.Take();
  std::erase(text, '\n');  // the one at its end: texts have none
  return text;
}

}  // namespace

int main() {
  rd_kafka_t* const host = New(RD_KAFKA_PRODUCER, {{"log_level", "0"}});
  rd_kafka_mock_cluster_t* const cluster = rd_kafka_mock_cluster_new(host, kBrokers);
  const std::string brokers = rd_kafka_mock_cluster_bootstraps(cluster);
  std::cout << brokers << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, name;
    int number = 0;
    words >> command;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    std::string answer = "{}";
    if (command == "topic" && words >> name >> number) {
      error = rd_kafka_mock_topic_create(cluster, name.c_str(), number, kBrokers);
    } else if (command == "read" && words >> name >> number) {
      answer = Read(brokers, name, number);
    } else if (command == "down" && words >> number) {
      error = rd_kafka_mock_broker_set_down(cluster, number);
    } else if (command == "up" && words >> number) {
      error = rd_kafka_mock_broker_set_up(cluster, number);
    } else if (int millis = 0; command == "slow" && words >> number >> millis) {
      error = rd_kafka_mock_broker_set_rtt(cluster, number, millis);
    } else if (int what = 0; command == "fail" && words >> number >> what) {
      const std::vector<rd_kafka_resp_err_t> errors(static_cast<size_t>(number),
                                                    static_cast<rd_kafka_resp_err_t>(what));
      rd_kafka_mock_push_request_errors_array(cluster, kProduce, errors.size(), errors.data());
    } else {
      answer = R"({"error":"no such command"})";
    }
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      answer = fmt::format(R"({{"error":"{}"}})", rd_kafka_err2name(error));
    std::cout << answer << std::endl;
  }
  rd_kafka_mock_cluster_destroy(cluster);
  rd_kafka_destroy(host);
  return 0;
}
