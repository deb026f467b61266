// The cluster that tests/cluster/run has started: where it is, and how to disturb it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/random.h"
#include "kv_rados/rados_engine.h"

namespace stator {

class ClusterUnderTest {
 public:
  // ceph.conf of the cluster. Only under tests/cluster/run.
  static std::string Conf() { return Environment("STATOR_CEPH_CONF"); }

  // Runs a command of tests/cluster/cluster. Returns "", or its output if it failed.
  static std::string Command(const std::string& command) {
    const std::string line = Environment("STATOR_CLUSTER") + " " + command;
    FILE* pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return {};
    std::string output;
    char buffer[4096];
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
      output.append(buffer, count);
    const int status = ::pclose(pipe);
    EXPECT_EQ(status, 0) << line << "\n" << output;
    return output;
  }
  // Runs a command such as "freeze-osd" or "thaw-osd" for all three OSDs.
  static void ForAllOsds(const std::string& command) {
    for (int osd = 0; osd < 3; ++osd) Command(command + " " + std::to_string(osd));
  }

  // A store in a namespace that no other test uses.
  static kv_rados::RadosOptions NewStore() {
    return {.ceph_conf = Conf(),
            .pool = "stator",
            .user = "stator",
            .name_space = "test-" + std::to_string(SystemSeed())};
  }

 private:
  static std::string Environment(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) {
      ADD_FAILURE() << name << " is not set: run ./dev cluster-test";
      return {};
    }
    return value;
  }
};

}  // namespace stator
