#include "exchange/item_source.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <climits>

#include "api/attribute_json.h"
#include "base/compress.h"
#include "exchange/export_writer.h"
#include "exchange/object_store.h"
#include "expr/test_notation.h"

namespace stator::exchange {
namespace {

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

// Reads a text as an object, and prints its items and errors.
class ItemSourceTest : public testing::Test {
 protected:
  ItemSourceTest() {
    codec_.append_json = api::AppendItemJson;
    codec_.read_json = api::ReadItem;
    table_.attribute_definitions = {{"pk", model::Type::kS}, {"n", model::Type::kN}};
    table_.key_schema.partition = {"pk", model::Type::kS};
  }
  std::vector<std::string> Read(std::string_view bytes) {
    EXPECT_TRUE(WriteObject(*objects_, "bucket", "key", bytes).ok());
    std::vector<std::string> found;
    int64_t plain = 0;
    looks_ = 0;
    const Status read = ReadItems(
        objects_->Read("bucket", "key").value(), job_, codec_, table_,
        [&](Result<std::string> item) {
          found.emplace_back(item.ok() ? "" : "error: ");
          if (item.ok()) {
            EXPECT_TRUE(model::CheckItem(*item).ok());
            api::AppendItemJson(&found.back(), model::ItemView(*item));
          } else {
            found.back() += item.error().message();
          }
          return OkStatus();
        },
        &plain, [this] { return ++looks_ > stopped_after_; });
    if (looks_ <= stopped_after_) {
      EXPECT_TRUE(read.ok()) << read.error().message();
    } else {
      EXPECT_EQ(read.error().code(), ErrorCode::kUnavailable);
    }
    plain_ = plain;
    return found;
  }

  const std::unique_ptr<ObjectStore> objects_ = MakeMemoryObjects(100 << 20);
  ImportJob job_;
  Codec codec_;
  table::TableDescriptor table_;
  int64_t plain_ = 0;
  int looks_ = 0;  // at whether the reader is stopped
  int stopped_after_ = INT_MAX;
};

using Found = std::vector<std::string>;

TEST_F(ItemSourceTest, JsonNeedsNoLines) {
  const std::string text = R"({"Item":{"pk":{"S":"a}\"{"}}}{"Item":{"pk":{"S":"b"},)"
                           "\n"
                           R"("n":{"N":"1.0"}}} )";
  const Found wanted = {R"({"pk":{"S":"a}\"{"}})", R"({"n":{"N":"1"},"pk":{"S":"b"}})"};
  EXPECT_EQ(Read(text), wanted);
  EXPECT_EQ(plain_, static_cast<int64_t>(text.size()));
  EXPECT_EQ(Read(""), Found());
  EXPECT_EQ(Read(" \n "), Found());
}

TEST_F(ItemSourceTest, OneWrongItemIsOneError) {
  const Found found = Read(
      R"({"Item":{"pk":{"S":"a"}}}
{"pk":{"S":"b"}}
{"Item":{"pk":{"N":"x"}}}
{"Item":{"pk":{"S":1}}}
{"Item":{"pk":{"S":"c"}}})");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0], R"({"pk":{"S":"a"}})");
  EXPECT_EQ(found[4], R"({"pk":{"S":"c"}})");
  for (const size_t i : {1, 2, 3}) EXPECT_EQ(found[i].substr(0, 7), "error: ") << found[i];
}

TEST_F(ItemSourceTest, WhatIsNoJsonEndsItsObject) {
  for (const char* wrong : {"not json", "[1]", "{\"Item\":", "{\"Item\":{]}", "{\"Item\":{}}}"}) {
    const Found found = Read(std::string(R"({"Item":{"pk":{"S":"a"}}})") + "\n" + wrong +
                             "\n{\"Item\":{\"pk\":{\"S\":\"b\"}}}\n");
    ASSERT_GE(found.size(), 2u) << wrong;
    EXPECT_EQ(found.back().substr(0, 7), "error: ") << wrong;
  }
}

TEST_F(ItemSourceTest, ADocumentHasABound) {
  const Found found = Read("{\"Item\":\"" + std::string(kMostTextBytes, 'x') + "\"}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "error: A JSON object has more than 8388608 bytes.");
}

TEST_F(ItemSourceTest, WhiteSpaceHasABound) {
  const std::string item = R"({"Item":{"pk":{"S":"a"}}})";
  const std::string wide = item + std::string(kMostTextBytes / 2, ' ') + item;
  EXPECT_EQ(Read(wide), (Found{R"({"pk":{"S":"a"}})", R"({"pk":{"S":"a"}})"}));
  const std::string wider = item + std::string(4 * kMostTextBytes, '\n') + item;
  const Found wanted = {R"({"pk":{"S":"a"}})",
                        "error: There are more than 8388608 bytes of white space."};
  EXPECT_EQ(Read(wider), wanted);
  EXPECT_LT(plain_, static_cast<int64_t>(2 * kMostTextBytes)) << "the rest is not even read";
  job_.compression = Compression::kGzip;
  EXPECT_EQ(Read(Gzip(wider)), wanted);
  EXPECT_LT(plain_, static_cast<int64_t>(2 * kMostTextBytes));
  job_.compression = Compression::kNone;
  job_.format = Format::kIon;
  EXPECT_EQ(Read(std::string(2 * kMostTextBytes, ' ')).size(), 1u);
  job_.format = Format::kCsv;
  EXPECT_EQ(Read("pk\n" + std::string(2 * kMostTextBytes, '\n')).size(), 1u);
}

// A stop is heard between items, inside an item, and in white space, in every format.
TEST_F(ItemSourceTest, AStopIsHeardWithinAPiece) {
  const std::string space(2 << 20, '\n');
  const std::string text = "{\"Item\":\"" + std::string(2 << 20, 'x');
  for (const Compression compression : {Compression::kNone, Compression::kGzip}) {
    for (const Format format : {Format::kDynamoDbJson, Format::kIon, Format::kCsv}) {
      for (const std::string& each : {space, text}) {
        job_.compression = compression;
        job_.format = format;
        const std::string bytes = compression == Compression::kNone ? each : Gzip(each);
        stopped_after_ = INT_MAX;
        Read(bytes);
        EXPECT_GE(looks_, 8) << "2 MB have many pieces";
        stopped_after_ = 3;
        EXPECT_EQ(Read(bytes), Found());
        EXPECT_EQ(looks_, 4);
        EXPECT_LE(plain_, 1 << 20);
      }
    }
  }
}

TEST_F(ItemSourceTest, CompressionIsAsDeclared) {
  const std::string text = R"({"Item":{"pk":{"S":"a"}}})";
  const Found wanted = {R"({"pk":{"S":"a"}})"};
  const std::string packed = Gzip(text);
  const Found plain_error = Read(packed);
  ASSERT_EQ(plain_error.size(), 1u);
  EXPECT_EQ(plain_error[0].substr(0, 7), "error: ");
  job_.compression = Compression::kGzip;
  EXPECT_EQ(Read(packed), wanted);
  EXPECT_EQ(plain_, static_cast<int64_t>(text.size()));
  EXPECT_EQ(Read(text), (Found{"error: the bytes are no gzip, or are damaged"}));
  EXPECT_EQ(Read(packed.substr(0, packed.size() - 4)).back(), "error: the gzip ends in the middle");
  EXPECT_EQ(Read(Gzip("")), Found());
}

TEST_F(ItemSourceTest, ManyItemsComeInPieces) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += R"({"Item":{"pk":{"S":")" + std::to_string(i) + "\"}}}\n";
  for (const Compression compression :
       {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    job_.compression = compression;
    std::string packed = text;
    if (compression == Compression::kGzip) packed = Gzip(text);
    if (compression == Compression::kZstd) packed = Zstd(text);
    const Found found = Read(packed);
    ASSERT_EQ(found.size(), 20'000u);
    EXPECT_EQ(found.back(), R"({"pk":{"S":"19999"}})");
    EXPECT_EQ(plain_, static_cast<int64_t>(text.size()));
  }
  EXPECT_EQ(Read(Zstd(text).substr(0, 1000)).back().substr(0, 7), "error: ");
  EXPECT_EQ(Read(text).back().substr(0, 7), "error: ");
  EXPECT_EQ(Read(""), Found());
}

TEST_F(ItemSourceTest, IonHasAStructForEachItem) {
  job_.format = Format::kIon;
  const Found wanted = {R"({"pk":{"S":"a}\"{"}})", R"({"n":{"N":"1"},"pk":{"S":"b'{"}})",
                        "error: The Ion struct has no member Item.", R"({"pk":{"S":"c"}})"};
  EXPECT_EQ(Read("$ion_1_0 {Item:{pk:\"a}\\\"{\"}}\n{'Item':{n:1.,pk:\"b'{\"}} {x:1}\n"
                 "$ion_1_0 {Item:{pk:\"c\"}}"),
            wanted);
  EXPECT_EQ(Read("{Item:{pk:\"a\"}}{Item:{pk:]}}{Item:{pk:\"b\"}}").size(), 2u);
  EXPECT_EQ(Read("(sexp)"), (Found{"error: The text is no Ion struct."}));
  EXPECT_EQ(Read(" $ion_1_0 \n"), Found());
}

TEST_F(ItemSourceTest, CsvHasAHeader) {
  job_.format = Format::kCsv;
  const Found wanted = {R"({"n":{"N":"7"},"pk":{"S":"a"},"text":{"S":"say \"hi\", you\nthere"}})",
                        R"({"n":{"N":"8"},"pk":{"S":"b"},"text":{"S":""}})",
                        "error: The record has 2 fields and the header 3.",
                        R"({"n":{"N":"9"},"pk":{"S":"c"},"text":{"S":"12"}})"};
  EXPECT_EQ(Read("pk,text,n\r\na,\"say \"\"hi\"\", you\nthere\",7\r\n\r\nb,,8\nx,y\nc,12,9"),
            wanted);
  EXPECT_EQ(Read("PK,n\na,1\n"), (Found{"error: The header lacks an attribute of the key."}));
  EXPECT_EQ(Read("pk,pk\na,1\n"), (Found{"error: The header has the name pk twice."}));
  EXPECT_EQ(Read("pk,n\na,x\n").size(), 1u);
  EXPECT_EQ(Read("pk,n\n\"a,1\n"), (Found{"error: A quoted field has no end."}));
  EXPECT_EQ(Read("pk,text\na,\xff\n"), (Found{"error: The record is not UTF-8."}));
}

TEST_F(ItemSourceTest, CsvTakesAListOfHeadersAndADelimiter) {
  job_.format = Format::kCsv;
  job_.csv.emplace().headers = {"pk", "n"};
  job_.csv->delimiter = "|";
  const Found wanted = {R"({"n":{"N":"1"},"pk":{"S":"a,b"}})"};
  EXPECT_EQ(Read("a,b|1\n"), wanted);
}

}  // namespace
}  // namespace stator::exchange
