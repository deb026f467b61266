// The functions of librdkafka, found at run time: a server without Kafka targets neither needs the
// library on its machine nor pays for loading it.
#pragma once

#if __has_include(<librdkafka/rdkafka.h>)
#define STATOR_KAFKA 1
#include <librdkafka/rdkafka.h>
#endif

#include "base/result.h"

namespace stator::triggers {

#ifdef STATOR_KAFKA
// clang-format off
#define STATOR_KAFKA_FUNCTIONS(F) \
  F(version) F(err2str) F(last_error) F(conf_new) F(conf_destroy) F(conf_set) \
  F(conf_set_dr_msg_cb) F(conf_set_error_cb) F(conf_set_log_cb) F(conf_set_opaque) F(new) \
  F(destroy) F(topic_new) F(topic_destroy) F(produce) F(poll) F(purge) F(fatal_error) \
  F(outq_len)
// clang-format on

// Members are named like the functions without their `rd_kafka_`, and with an underscore behind.
struct KafkaApi {
#define STATOR_KAFKA_MEMBER(name) decltype(&::rd_kafka_##name) name##_ = nullptr;
  STATOR_KAFKA_FUNCTIONS(STATOR_KAFKA_MEMBER)
#undef STATOR_KAFKA_MEMBER
};
#else
struct KafkaApi {};
#endif

// Loads librdkafka on the first call. The functions stay for the life of the process. kUnavailable,
// with a sentence on what to install, if the library is missing or too old, or if this build cannot
// use it. Thread-safe.
Result<const KafkaApi*> LoadKafka();

}  // namespace stator::triggers
