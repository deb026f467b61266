#include "base/accept_encoding.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(AcceptEncoding, NamesACodingWithAWeight) {
  for (std::string_view yes : {"gzip", "GZIP", "deflate, gzip", " gzip ;q=0.5", "br;q=1,gzip;q=1.0",
                               "gzip;q=0.001", "gzip;q=1"}) {
    EXPECT_TRUE(AcceptsEncoding(yes, "gzip")) << yes;
  }
  for (std::string_view no :
       {"", "identity", "xgzip", "gzip;q=0", "gzip;q=0.0", "deflate", "*", ",,;"})
    EXPECT_FALSE(AcceptsEncoding(no, "gzip")) << no;
}

}  // namespace
}  // namespace stator
