#include "transfer/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <fmt/format.h>

namespace stator::transfer {
namespace {

using testing::HasSubstr;

Manifest Full() {
  Manifest manifest;
  manifest.id = "01795613126583-0a1b2c3d";
  manifest.name = "before-the-change";
  manifest.created_millis = 1'795'613'126'583;
  table::TableDescriptor& table = manifest.table;
  table.name = "Orders";
  table.table_id = "12345678-1234-4234-8234-123456789012";
  table.created_micros = 1'795'000'000'123'456;
  table.billing_mode = table::BillingMode::kPayPerRequest;
  table.max_read_request_units = 100;
  table.attribute_definitions = {
      {"p\"k", model::Type::kS}, {"s", model::Type::kN}, {"g", model::Type::kB}};
  table.key_schema.partition = {"p\"k", model::Type::kS};
  table.key_schema.sort = model::KeyAttribute{"s", model::Type::kN};
  table::IndexDescriptor local;
  local.name = "local";
  local.kind = table::IndexDescriptor::Kind::kLocal;
  local.key = {{{"p\"k", model::Type::kS}}, {{"g", model::Type::kB}}};
  local.projection = table::IndexDescriptor::Projection::kInclude;
  local.non_key_attributes = {"a", "b"};
  table::IndexDescriptor global;
  global.name = "global";
  global.key = {{{"g", model::Type::kB}, {"s", model::Type::kN}}, {}};
  global.projection = table::IndexDescriptor::Projection::kKeysOnly;
  global.throughput.read_units = 3;
  global.throughput.write_units = 4;
  table.indexes = {local, global};
  table.stream_view_type = stream::ViewType::kNewAndOldImages;
  table.expiry.emplace().attribute = "expires";
  manifest.item_count = 7;
  manifest.table_bytes = 70;
  manifest.files = {{"data-000001", 100, 7, std::string(32, 'a')}};
  return manifest;
}

TEST(Manifest, ComesBackAsItWas) {
  const std::string text = EncodeManifest(Full());
  const Result<Manifest> read = DecodeManifest(text);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(EncodeManifest(*read), text);
  EXPECT_EQ(read->table.indexes[1].key.partition.size(), 2u);
  EXPECT_EQ(read->table.indexes[0].non_key_attributes, Full().table.indexes[0].non_key_attributes);
  EXPECT_EQ(read->table.key_schema, Full().table.key_schema);
  EXPECT_EQ(read->files, Full().files);
  EXPECT_EQ(read->table.max_read_request_units, 100);
  EXPECT_EQ(read->table.max_write_request_units, std::nullopt);
}

TEST(Manifest, EveryChangedOrMissingByteIsRefused) {
  const std::string text = EncodeManifest(Full());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(DecodeManifest(damaged).ok()) << i;
    EXPECT_FALSE(DecodeManifest(text.substr(0, i)).ok()) << i;
  }
}

// Gives a text that was changed on purpose a checksum that is right.
std::string Sealed(std::string text) {
  text.resize(text.rfind(",\"Checksum\""));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return text + fmt::format(",\"Checksum\":\"{:016x}{:016x}\"}}\n", hash.high64, hash.low64);
}

TEST(Manifest, WellSealedNonsenseIsRefusedByName) {
  const std::string text = EncodeManifest(Full());
  const auto with = [&text](std::string_view from, std::string_view to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return DecodeManifest(Sealed(changed));
  };
  ASSERT_TRUE(with("Orders", "Others").ok());
  EXPECT_THAT(with("\"Version\":1", "\"Version\":2").error().message(),
              HasSubstr("Start the newer Stator that wrote it"));
  EXPECT_EQ(with("\"Version\":1", "\"Version\":2").error().code(), ErrorCode::kUnavailable);
  for (const auto& [from, to, member] : std::vector<std::array<std::string, 3>>{
           {"PAY_PER_REQUEST", "PAY", "BillingMode"},
           {"\"ItemCount\":7", "\"ItemCount\":-7", "ItemCount"},
           {"\"ItemCount\":7", "\"ItemCount\":\"7\"", "ItemCount"},
           {"\"KeyType\":\"HASH\"", "\"KeyType\":\"HUSH\"", "KeyType"},
           {"\"AttributeType\":\"S\"", "\"AttributeType\":\"L\"", "AttributeType"},
           {"01795613126583-0a1b2c3d", "../../../../../etc/pass", "BackupId"},
           {"KEYS_ONLY", "KEYS", "ProjectionType"},
           {"\"Table\":", "\"Tables\":", "Table"},
           {"NEW_AND_OLD_IMAGES", "NEW", "StreamViewType"}}) {
    const Result<Manifest> read = with(from, to);
    ASSERT_FALSE(read.ok()) << to;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(read.error().message(), HasSubstr("member " + member)) << to;
  }
}

}  // namespace
}  // namespace stator::transfer
