#include "simulate/scenario_reader.h"

#include <gtest/gtest.h>

#include "base/thread_cpu_clock.h"

namespace stator::simulate {
namespace {

constexpr std::string_view kWhole = R"(
description = "all of it"
duration = "2h"
step = "500ms"
seed = 7
start = 2026-03-01

[model]
adaptive = "delayed"
adaptive_delay = "10m"
partition_read_units = 2000
partition_bytes = "1GB"
heat_windows = 3

[prices]
write_unit_month = 1
million_reads = 0.25

[[table]]
name = "t"
billing = "provisioned"
read = 10
write = 20
size = "5GB"
local_indexes = true
stream = true
capacity = [{ at = "1h", write = 30 }, { at = "90m", billing = "on-demand", warm_write = 5000 }]
[table.auto_scaling]
write = { min = 20, max = 200, target = 0.5 }

[[table.index]]
name = "i"
read = 5
write = 6
fraction = 0.25
entry_bytes = "300B"
keys = { type = "weighted", weights = { a = 1, b = 3 } }

[[traffic]]
table = "t"
operation = "write"
transactional = true
new_items = true
item_bytes = "2KB"
rate = [["0s", 1], ["10m", 5.5]]
linear = true
from = "1m"
until = "1h"
keys = { type = "zipf", count = 1000, exponent = 1.2, sort = "increasing", suffixes = 4, suffix = "computed" }

[[traffic]]
table = "t"
index = "i"
operation = "read"
rate = 3
)";

TEST(ScenarioReaderTest, ReadsEverything) {
  const Result<Scenario> read = ParseScenario(kWhole, "dir/all.toml");
  ASSERT_TRUE(read.ok()) << read.error().message();
  const Scenario& s = *read;
  EXPECT_EQ(s.name, "all");
  EXPECT_EQ(s.duration_seconds, 7200);
  EXPECT_EQ(s.step_seconds, 0.5);
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.start_micros, 1'772'323'200'000'000);
  EXPECT_EQ(s.model.adaptive, throughput::Adaptive::kDelayed);
  EXPECT_EQ(s.model.adaptive_delay_seconds, 600);
  EXPECT_EQ(s.model.partition_read_units, 2000);
  EXPECT_EQ(s.model.eventual_partition_read_units, 2000);
  EXPECT_EQ(s.model.partition_bytes, 1 << 30);
  EXPECT_TRUE(s.has_prices);
  ASSERT_EQ(s.tables.size(), 1u);
  const TableScenario& t = s.tables[0];
  EXPECT_EQ(t.definition.provisioned, (throughput::Rates{10, 20}));
  EXPECT_EQ(t.definition.bytes, int64_t{5} << 30);
  EXPECT_TRUE(t.definition.has_local_indexes);
  ASSERT_EQ(t.changes.size(), 2u);
  EXPECT_EQ(t.changes[1].at_seconds, 5400);
  EXPECT_EQ(t.changes[1].billing, throughput::Billing::kOnDemand);
  EXPECT_EQ(t.changes[1].warm, (throughput::Rates{1, 5000}));
  ASSERT_TRUE(t.auto_scaling.write);
  EXPECT_FALSE(t.auto_scaling.read);
  ASSERT_EQ(t.indexes.size(), 1u);
  EXPECT_TRUE(t.indexes[0].definition.is_index);
  EXPECT_EQ(t.indexes[0].keys.weights, (std::vector<double>{1, 3}));
  ASSERT_EQ(s.traffic.size(), 2u);
  EXPECT_EQ(s.traffic[0].rate, (std::vector<std::pair<double, double>>{{0, 1}, {600, 5.5}}));
  EXPECT_EQ(s.traffic[0].keys.suffixes, 4);
  EXPECT_EQ(s.traffic[0].name, "t writes");
  EXPECT_EQ(s.traffic[1].index, 0u);
  EXPECT_EQ(s.traffic[1].keys.names.size(), 2u)
      << "reads of an index use its keys unless told otherwise";
}

struct Bad {
  std::string_view text;
  std::string_view message;
};

TEST(ScenarioReaderTest, SaysWhereAndWhatIsWrong) {
  constexpr std::string_view kTable = "[[table]]\nname = \"t\"\n";
  const Bad cases[] = {
      {"duration = ", "f.toml:1: "},
      {"", "f.toml:1: there is no [[table]]"},
      {"[[table]]\nread = 5\n", "f.toml:1: table: name is missing"},
      {"speed = 3\n[[table]]\nname = \"t\"\n[[traffic]]\ntable = \"t\"\nrate = 1\n",
       "f.toml:1: speed: unknown key"},
      {"duration = \"soon\"\n", "f.toml:1: duration: must be a duration such as"},
      {"duration = \"-1h\"\n", "f.toml:1: duration: must be a duration"},
      {"duration = \"10000d\"\n", "f.toml:1: duration: is more than 2000000 steps"},
      {"step = 0\n", "f.toml:1: step: must be at least 100ms"},
      {"seed = -1\n", "f.toml:1: seed: must be between 0"},
      {"start = \"2026-01-01\"\n", "f.toml:1: start: must be a date"},
      {"name = \"../x\"\n", "f.toml:1: name: must be a name without slashes"},
      {"[model]\nadaptive = \"maybe\"\n",
       "f.toml:2: model.adaptive: must be one of \"off\", \"instant\", \"delayed\""},
      {"[model]\nheat_min_side = 0.9\n",
       "f.toml:2: model.heat_min_side: must be between 0.01 and 0.5"},
      {"model = 3\n", "f.toml:1: model: must be a table"},
      {"[[table]]\nname = \"t\"\nread = 0\n", "f.toml:3: table.read: must be between 1"},
      {"[[table]]\nname = \"t\"\nread = \"5\"\n", "f.toml:3: table.read: must be a number"},
      {"[[table]]\nname = \"t\"\nsize = \"5 apples\"\n", "f.toml:3: table.size: must be a size"},
      {"[[table]]\nname = \"t\"\nstream = 1\n", "f.toml:3: table.stream: must be true or false"},
      {"[[table]]\nname = \"t\"\n[[table]]\nname = \"t\"\n",
       "f.toml:4: table.name: there is a table of this name already"},
      {"[[table]]\nname = \"t\"\ncapacity = [{ write = 3 }]\n",
       "f.toml:3: table.capacity: at is missing"},
      {"[[table]]\nname = \"t\"\n[table.auto_scaling]\nread = { target = 0.95 }\n",
       "f.toml:4: table.auto_scaling.read: target must be between 0.2 and 0.9"},
  };
  for (const Bad& bad : cases) {
    const Result<Scenario> read = ParseScenario(bad.text, "f.toml");
    ASSERT_FALSE(read.ok()) << bad.text;
    EXPECT_EQ(read.error().code(), ErrorCode::kValidation);
    EXPECT_TRUE(read.error().message().starts_with(bad.message)) << bad.text << "\n"
                                                                 << read.error().message();
  }
  const Bad traffic[] = {
      {"", "f.toml:1: there is no [[traffic]]"},
      {"[[traffic]]\ntable = \"u\"\nrate = 1\n",
       "f.toml:4: traffic.table: there is no table \"u\""},
      {"[[traffic]]\ntable = \"t\"\n", "f.toml:3: traffic: rate is missing"},
      {"[[traffic]]\ntable = \"t\"\nrate = [[\"1m\", 5], [\"0m\", 3]]\n",
       "f.toml:5: traffic.rate: must be requests per second"},
      {"[[traffic]]\ntable = \"t\"\nrate = 1\nindex = \"i\"\n",
       "f.toml:6: traffic.index: table \"t\" has no index \"i\""},
      {"[[traffic]]\ntable = \"t\"\nrate = 1\nnew_items = true\n",
       "f.toml:6: traffic.new_items: unknown key"},
      {"[[traffic]]\ntable = \"t\"\nrate = 1\nkeys = { type = \"weighted\", weights = {} }\n",
       "f.toml:6: traffic.keys.weights: must have 1 to"},
      {"[[traffic]]\ntable = \"t\"\nrate = 1\nkeys = { type = \"uniform\", exponent = 2 }\n",
       "f.toml:6: traffic.keys.exponent: unknown key"},
      {"[[traffic]]\ntable = \"t\"\nrate = 1\nkeys = { type = \"upload\" }\n",
       "f.toml:6: traffic.keys: an upload is made of writes"},
  };
  for (const Bad& bad : traffic) {
    const Result<Scenario> read =
        ParseScenario(std::string(kTable) + std::string(bad.text), "f.toml");
    ASSERT_FALSE(read.ok()) << bad.text;
    EXPECT_TRUE(read.error().message().starts_with(bad.message)) << bad.text << "\n"
                                                                 << read.error().message();
  }
  EXPECT_EQ(ReadScenario("/does/not/exist.toml").error().message(),
            "/does/not/exist.toml: cannot be read");
}

// The server and `stator mcp` read what strangers send, 256 KB of it.
TEST(ScenarioReader, ManyTablesTakeTimeInProportion) {
  const auto micros_of = [](int tables) {
    std::string text;
    for (int i = 0; i < tables; ++i) text += "[[table]]\n";
    const ThreadCpuClock clock;
    const int64_t since = clock.TicksMicros();
    EXPECT_FALSE(ParseScenario(text, "f.toml").ok());
    return clock.TicksMicros() - since;
  };
  const int64_t some = micros_of(2'500);
  EXPECT_LT(micros_of(20'000), 30 * some);  // once 64 times, and more
}

}  // namespace
}  // namespace stator::simulate
