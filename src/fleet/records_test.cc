#include "fleet/records.h"

#include <gtest/gtest.h>

namespace stator::fleet {
namespace {

TEST(RecordsTest, KeysAndNames) {
  EXPECT_EQ(KeyOf(kProcessPrefix, "00ff"), "process/00ff");
  EXPECT_EQ(NameIn(kProcessPrefix, "process/00ff"), "00ff");
  EXPECT_EQ(NameIn(kLeasePrefix, "process/00ff"), "");
}

TEST(RecordsTest, Values) {
  EXPECT_EQ(EncodeRecord("ab"), std::string(8, '\0') + "\1ab");
  EXPECT_EQ(DecodeRecord(EncodeRecord("ab")).value(), "ab");
  EXPECT_EQ(DecodeRecord(EncodeRecord("")).value(), "");
  EXPECT_EQ(DecodeRecord(std::string(8, '\0')).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(DecodeRecord(std::string(8, '\0') + "\2x").error().code(), ErrorCode::kCorruption);
}

TEST(RecordsTest, Beats) {
  const Beat beat{7,
                  "localhost:8000",
                  "0.1.0",
                  "system",
                  1'700'000'000'000'000,
                  1'700'000'001'000'000,
                  "colours shapes",
                  1'600'000'000'000'000};
  EXPECT_EQ(
      beat.Encode(),
      "sequence 7\nendpoint localhost:8000\nversion 0.1.0\nclock system\nstarted "
      "1700000000000000\nat 1700000001000000\nfeatures colours shapes\nage 1600000000000000\n");
  EXPECT_EQ(Beat::Decode(beat.Encode()).value(), beat);
  // As versions without features write it.
  EXPECT_EQ(Beat::Decode("sequence 7\nclock system\n")->features, "");
  EXPECT_EQ(Beat::Decode(beat.Encode() + "color of the future\n").value(), beat);
  EXPECT_FALSE(Beat::Decode(beat.Encode())->draining.has_value()) << "an older version";
  Beat placed = beat;
  placed.draining = false;
  placed.datacenter = "dc1";
  placed.rack = "r 2";
  placed.unreached = "ab,cd";
  EXPECT_TRUE(placed.Encode().ends_with("draining 0\ndatacenter dc1\nrack r 2\nunreached ab,cd\n"));
  EXPECT_EQ(Beat::Decode(placed.Encode()).value(), placed);
  placed.draining = true;
  EXPECT_EQ(Beat::Decode(placed.Encode())->draining, true);
  for (const char* bad : {"sequence", "sequence 7", "sequence x\n", "sequence\n7", "\n"}) {
    EXPECT_FALSE(Beat::Decode(bad).ok()) << bad;
  }
}

TEST(RecordsTest, LeasesHaveOwners) {
  const Lease lease{"00000000000000ff", 3};
  EXPECT_EQ(lease.Encode(), "owner 00000000000000ff\nterm 3\n");
  EXPECT_EQ(Lease::Decode(lease.Encode()).value(), lease);
  EXPECT_FALSE(Lease::Decode("term 3\n").ok());
}

}  // namespace
}  // namespace stator::fleet
