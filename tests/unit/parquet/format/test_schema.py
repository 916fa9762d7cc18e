"""The schemas in the documents, written by us and printed from the footer, equal the text.

The texts are those of the documents, indented; `VARIANT` carries its version.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from shredlake.kernels import variant
from shredlake.parquet.legacy.convert import write_draft
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.legacy import DraftNode, draft_node
from shredlake.shredding.schema import Scalar, ShreddingSchema
from shredlake.variant.types import VariantType
from variant_columns import column_of, footer_schema

MEASUREMENT = """
required group measurement (VARIANT(1)) {
  required binary metadata;
  optional binary value;
  optional int64 typed_value;
}
"""

TAGS = """
optional group tags (VARIANT(1)) {
  required binary metadata;
  optional binary value;
  optional group typed_value (LIST) {   # must be optional to allow a null list
    repeated group list {
      required group element {          # shredded element
        optional binary value;
        optional binary typed_value (STRING);
      }
    }
  }
}
"""

EVENT = """
optional group event (VARIANT(1)) {
  required binary metadata;
  optional binary value;                # a variant, expected to be an object
  optional group typed_value {          # shredded fields for the variant object
    required group event_type {         # shredded field for event_type
      optional binary value;
      optional binary typed_value (STRING);
    }
    required group event_ts {           # shredded field for event_ts
      optional binary value;
      optional int64 typed_value (TIMESTAMP(true, MICROS));
    }
  }
}
"""

NESTED = """
optional group event (VARIANT(1)) {
  required binary metadata;
  optional binary value;
  optional group typed_value {
    required group event_type {
      optional binary value;
      optional binary typed_value (STRING);
    }
    required group event_ts {
      optional binary value;
      optional int64 typed_value (TIMESTAMP(true, MICROS));
    }
    required group location {
      optional binary value;
      optional group typed_value {
        required group latitude {
          optional binary value;
          optional double typed_value;
        }
        required group longitude {
          optional binary value;
          optional double typed_value;
        }
      }
    }
    required group tags {
      optional binary value;
      optional group typed_value (LIST) {
        repeated group list {
          required group element {
            optional binary value;
            optional binary typed_value (STRING);
          }
        }
      }
    }
  }
}
"""

UNSHREDDED = """
optional group v (VARIANT(1)) {
  required binary metadata;
  required binary value;
}
"""

TODAY = [
    (MEASUREMENT, "measurement", False, "bigint"),
    (TAGS, "tags", True, "array<string>"),
    (EVENT, "event", True, "struct<event_type string, event_ts timestamp>"),
    (
        NESTED,
        "event",
        True,
        "struct<event_type string, event_ts timestamp, "
        "location struct<latitude double, longitude double>, tags array<string>>",
    ),
    (UNSHREDDED, "v", True, None),
]

DRAFT_OBJECT = """
optional group variant_col {
 optional binary untyped_value;
 optional group object {
  optional group a {
   optional binary untyped_value;
   optional int64 typed_value;
  }
  optional group b {
   optional binary untyped_value;
   optional group object {
    optional group c {
      optional binary untyped_value;
      optional binary typed_value (STRING);
    }
   }
  }
 }
}
"""

DRAFT_ARRAY = """
optional group variant_col {
 optional binary untyped_value;
 optional group array (LIST) {
  repeated group list {
   optional group element {
    optional binary untyped_value;
    optional group object {
     optional group a {
      optional binary untyped_value;
      optional group array (LIST) {
       repeated group list {
        optional group element {
         optional int64 typed_value;
         optional binary untyped_value;
        }
       }
      }
     }
     optional group b {
      optional int64 typed_value;
      optional binary untyped_value;
     }
    }
   }
  }
 }
}
"""

TYPED_FIRST = DraftNode(
    "untyped_value", typed=Scalar(VariantType.INT64), parts=("typed_value", "untyped_value")
)
ARRAY_OF_OBJECTS = DraftNode(
    "untyped_value",
    array=DraftNode(
        "untyped_value", object={"a": DraftNode("untyped_value", array=TYPED_FIRST), "b": TYPED_FIRST}
    ),
)
DRAFT = [
    (DRAFT_OBJECT, draft_node(ShreddingSchema.parse("struct<a bigint, b struct<c string>>"))),
    (DRAFT_ARRAY, ARRAY_OF_OBJECTS),
]


def normalised(text: str) -> str:
    return " ".join(re.sub(r"#.*", "", text).split())


def printed(path: Path) -> str:
    [group] = footer_schema(path).children
    return normalised(str(group))


@pytest.mark.parametrize(("text", "name", "nullable", "ddl"), TODAY)
def test_the_current_document(text: str, name: str, nullable: bool, ddl: str | None, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    schema = pa.schema([pa.field(name, variant(), nullable=nullable)])
    table = pa.Table.from_arrays([column_of([1, {"a": 1}])], schema=schema)
    write_parquet(table, path, shredding={name: ddl})
    assert printed(path) == normalised(text)


@pytest.mark.parametrize(("text", "node"), DRAFT)
def test_the_drafts_document(text: str, node: DraftNode, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"variant_col": column_of([1, {"a": 1}])}), path, {"variant_col": node})
    assert printed(path) == normalised(text)


def test_the_texts_are_those_of_the_documents(conformance: Path) -> None:
    """Where the documents are at hand, the texts above stand in them word for word."""
    folder = conformance.parent / "spec"
    if not folder.is_dir():
        pytest.skip(f"no documents at {folder}")
    today = normalised((folder / "parquet-variant-shredding.md").read_text())
    for text, *_ in TODAY[:-1]:
        assert normalised(text).replace("VARIANT(1)", "VARIANT") in today
    encoding = normalised((folder / "variant-encoding.md").read_text())
    unshredded = normalised(UNSHREDDED).replace("optional group v", "group NAME")
    assert unshredded in encoding
    draft = normalised((folder / "spark-draft-shredding.md").read_text())
    for text, _ in DRAFT:
        assert normalised(text) in draft
