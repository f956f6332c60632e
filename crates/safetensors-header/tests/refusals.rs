//! What a header says, and every refusal, from bytes in memory.

use safetensors_header::{
    Dtype, Header, HeaderDefect, LENGTH_BYTES, MAX_HEADER_BYTES, close_names, listing, shown,
};

fn entry(name: &str, dtype: &str, shape: &str, begin: u64, end: u64) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#)
}

fn json_of(entries: &[String]) -> String {
    format!("{{{}}}", entries.join(","))
}

fn parse(entries: &[String], data_bytes: u64) -> Result<Header, HeaderDefect> {
    Header::parse(json_of(entries).as_bytes(), data_bytes)
}

fn defect(entries: &[String], data_bytes: u64) -> HeaderDefect {
    parse(entries, data_bytes).expect_err("it must be refused")
}

#[test]
fn tensors_in_the_order_of_their_bytes_with_offsets_in_the_file() {
    let entries = [
        entry("z", "I64", "[]", 24, 32),
        entry("b.weight", "F32", "[2,3]", 0, 24),
    ];
    let json = json_of(&entries);
    let header = Header::parse(json.as_bytes(), 32).unwrap();
    let base = LENGTH_BYTES + json.len() as u64;
    let [first, second] = header.tensors() else {
        panic!("{header:?}");
    };
    assert_eq!(
        (first.name.as_str(), first.dtype.name()),
        ("b.weight", "F32")
    );
    assert_eq!(first.shape, [2, 3]);
    assert_eq!((first.begin, first.end), (base, base + 24));
    assert_eq!((second.name.as_str(), second.dtype.bits()), ("z", 64));
    assert!(second.shape.is_empty());
    assert_eq!((second.begin, second.end), (base + 24, base + 32));

    assert_eq!(header.find("z"), Some(second));
    assert_eq!(header.find("b.weight"), Some(first));
    assert_eq!(header.find("b.wieght"), None);
    assert_eq!(header.hint("b.wieght"), "did you mean 'b.weight'?");
    assert_eq!(header.listing(), "b.weight (F32 [2, 3]), z (I64 [])");
}

#[test]
fn every_name_is_found_whatever_the_order() {
    let count = 200u64;
    let entries: Vec<String> = (0..count)
        .map(|i| entry(&format!("t{}", i * 77 % count), "U8", "[1]", i, i + 1))
        .collect();
    let header = parse(&entries, count).unwrap();
    for (i, tensor) in header.tensors().iter().enumerate() {
        assert_eq!(tensor.name, format!("t{}", i as u64 * 77 % count));
        assert_eq!(header.find(&tensor.name), Some(tensor));
    }
    assert_eq!(header.find(""), None);
    assert_eq!(header.find("t200"), None);
}

#[test]
fn empty_tensors_are_legal_where_no_other_tensor_is_cut() {
    let entries = [
        entry("last", "F32", "[0]", 4, 4),
        entry("w", "F32", "[1]", 0, 4),
        entry("first", "BF16", "[3,0]", 0, 0),
        entry("also first", "F4", "[0,18446744073709551615]", 0, 0),
    ];
    let header = parse(&entries, 4).unwrap();
    let names: Vec<&str> = header.tensors().iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["first", "also first", "w", "last"]);
    for name in ["first", "also first", "last"] {
        let tensor = header.find(name).unwrap();
        assert_eq!(tensor.begin, tensor.end);
    }
    assert!(parse(&[entry("only", "U8", "[0]", 0, 0)], 0).is_ok());
    assert!(parse(&[], 0).unwrap().tensors().is_empty());
    assert_eq!(
        defect(
            &[
                entry("w", "F32", "[1]", 0, 4),
                entry("inside", "U8", "[0]", 2, 2)
            ],
            4
        ),
        HeaderDefect::Overlap {
            first: "w".into(),
            second: "inside".into(),
            offset: 2
        }
    );
    assert_eq!(
        defect(&[entry("away", "U8", "[0]", 1, 1)], 1),
        HeaderDefect::Hole { begin: 0, end: 1 }
    );
}

#[test]
fn metadata_is_kept_in_the_order_of_its_keys() {
    let parse = |json: &str| Header::parse(json.as_bytes(), 0).unwrap();
    assert_eq!(parse("{}").metadata(), None);
    assert!(
        parse(r#"{"__metadata__":{}}"#)
            .metadata()
            .unwrap()
            .is_empty()
    );
    let header = parse(r#"{"__metadata__":{"format":"pt","a":"\u00e9\n","":"","a b":"1"}}   "#);
    let members: Vec<(&str, &str)> = header
        .metadata()
        .unwrap()
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        members,
        [("", ""), ("a", "é\n"), ("a b", "1"), ("format", "pt")]
    );
    assert!(header.tensors().is_empty());
    assert_eq!(header.find("__metadata__"), None);
    let twice = parse(r#"{"__metadata__":{"a":"1","a":"2"}}"#);
    assert_eq!(twice.metadata().unwrap()["a"], "2");
}

#[test]
fn bad_lengths() {
    let length = |length: u64, size: u64| Header::length(&length.to_le_bytes(), size);
    assert_eq!(length(0, 8), Ok(0));
    assert_eq!(length(2, 10), Ok(2));
    assert_eq!(length(0x0102_0304, u64::MAX), Ok(0x0102_0304));
    assert_eq!(length(MAX_HEADER_BYTES, u64::MAX), Ok(MAX_HEADER_BYTES));
    // Bytes after the field do not matter.
    assert_eq!(
        Header::length(&[2, 0, 0, 0, 0, 0, 0, 0, b'{', b'}'], 10),
        Ok(2)
    );
    for size in 0..8 {
        let short = HeaderDefect::TooShort { size };
        assert_eq!(length(0, size).unwrap_err(), short);
        let start = vec![0; size as usize];
        assert_eq!(Header::length(&start, size).unwrap_err(), short);
        assert_eq!(Header::length(&start, 1000).unwrap_err(), short);
    }
    assert_eq!(
        length(3, 10),
        Err(HeaderDefect::LengthBeyondFile {
            length: 3,
            available: 2
        })
    );
    for claimed in [MAX_HEADER_BYTES + 1, 5_000_000_000, u64::MAX] {
        assert_eq!(
            length(claimed, u64::MAX),
            Err(HeaderDefect::LengthOverLimit {
                length: claimed,
                limit: MAX_HEADER_BYTES
            })
        );
    }
    let text = vec![b'{'; MAX_HEADER_BYTES as usize + 1];
    assert!(matches!(
        Header::parse(&text, 0),
        Err(HeaderDefect::LengthOverLimit { .. })
    ));
}

#[test]
fn headers_that_are_not_the_expected_json() {
    let nested = format!("{{\"a\":{}", "[".repeat(100_000));
    for text in [
        "",
        "[]",
        " {}",
        "{",
        "{}x",
        "{}\0",
        "{\"a\":1}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1,1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}",
        "{\"__metadata__\":{},\"__metadata__\":{}}",
        "{\"__metadata__\":{\"a\":1}}",
        "{\"__metadata__\":null}",
        nested.as_str(),
    ] {
        let defect = Header::parse(text.as_bytes(), 4).unwrap_err();
        assert!(
            matches!(defect, HeaderDefect::InvalidJson { .. }),
            "{text:.40}: {defect}"
        );
    }
    assert!(matches!(
        Header::parse(b"{\xff", 4),
        Err(HeaderDefect::InvalidJson { .. })
    ));
}

#[test]
fn bad_tensor_entries() {
    let a = || entry("a", "F32", "[1,1]", 0, 4);
    let name = || "a".to_owned();
    assert_eq!(
        defect(&[a(), a()], 4),
        HeaderDefect::DuplicateName { name: name() }
    );
    // Empty, so that neither shares a byte, and one written with an escape.
    assert_eq!(
        defect(
            &[
                entry("a", "F32", "[0]", 0, 0),
                entry("\\u0061", "U8", "[0]", 0, 0)
            ],
            0
        ),
        HeaderDefect::DuplicateName { name: name() }
    );
    assert_eq!(
        defect(&[entry("a", "F33", "[1,1]", 0, 4)], 4),
        HeaderDefect::UnknownDtype {
            name: name(),
            dtype: "F33".into()
        }
    );
    assert_eq!(
        defect(&[entry("a", "F32", "[1,1]", 4, 0)], 4),
        HeaderDefect::ReversedOffsets {
            name: name(),
            begin: 4,
            end: 0
        }
    );
    for (begin, end, available) in [(0, 4, 3), (u64::MAX - 4, u64::MAX, 4)] {
        assert_eq!(
            defect(&[entry("a", "F32", "[1,1]", begin, end)], available),
            HeaderDefect::OffsetsBeyondFile {
                name: name(),
                end,
                available
            }
        );
    }
    assert_eq!(
        defect(&[entry("a", "F32", "[1,2]", 0, 4)], 4),
        HeaderDefect::WrongLength {
            name: name(),
            expected: 8,
            actual: 4
        }
    );
    for shape in [
        "[4294967296,4294967296]",
        "[18446744073709551615,2]",
        "[4611686018427387904]",
    ] {
        assert_eq!(
            defect(&[entry("a", "F32", shape, 0, 4)], 4),
            HeaderDefect::ShapeOverflow { name: name() }
        );
    }
    assert_eq!(
        defect(&[entry("a", "F4", "[1,3]", 0, 1)], 1),
        HeaderDefect::Unaligned { name: name() }
    );
    assert_eq!(
        defect(&[a(), entry("b", "F32", "[1,1]", 2, 6)], 6),
        HeaderDefect::Overlap {
            first: name(),
            second: "b".into(),
            offset: 2
        }
    );
    for (entries, data_bytes, begin, end) in [
        (vec![a(), entry("b", "F32", "[1,1]", 8, 12)], 12, 4, 8),
        (vec![entry("a", "F32", "[1,1]", 4, 8)], 8, 0, 4),
        (vec![a()], 9, 4, 9),
        (vec![], 1, 0, 1),
    ] {
        assert_eq!(
            defect(&entries, data_bytes),
            HeaderDefect::Hole { begin, end }
        );
    }
}

#[test]
fn no_size_of_the_data_overflows_an_offset() {
    for (shape, begin) in [("[18446744073709551615]", 0), ("[0]", u64::MAX)] {
        assert!(matches!(
            parse(&[entry("a", "U8", shape, begin, u64::MAX)], u64::MAX),
            Err(HeaderDefect::OffsetsBeyondFile { end: u64::MAX, .. })
        ));
    }
    assert!(matches!(
        parse(&[entry("a", "U8", "[1]", 0, 1)], u64::MAX),
        Err(HeaderDefect::Hole { begin: 1, .. })
    ));
}

#[test]
fn control_characters_of_a_header_do_not_reach_the_terminal() {
    let text = defect(&[entry("a\\u001b[31m", "F33", "[1,1]", 0, 4)], 4).to_string();
    assert!(
        !text.contains('\u{1b}') && text.contains("\\u{1b}"),
        "{text}"
    );
    assert_eq!(shown("a\tb\u{7f}é"), "a\\tb\\u{7f}é");
    assert_eq!(shown(&"é".repeat(120)), "é".repeat(120));
    assert_eq!(shown(&"é".repeat(121)), format!("{}…", "é".repeat(120)));
}

#[test]
fn names_in_sentences() {
    let names: Vec<String> = (0..25).map(|i| format!("layer.{i:02}")).collect();
    let all = || names.iter().map(String::as_str);
    let text = listing(names.len(), names.iter().cloned());
    assert!(text.ends_with("layer.18, layer.19 and 5 more"), "{text}");
    assert_eq!(listing(0, std::iter::empty()), "no tensors");
    assert_eq!(close_names("w", std::iter::empty()), "it holds no tensors");
    assert_eq!(
        close_names("qqqq", all()),
        "it holds 25 others, for example 'layer.00', 'layer.01', 'layer.02', 'layer.03', \
         'layer.04'"
    );
    assert!(close_names("layer.1", all()).starts_with("did you mean 'layer.1"));
    let endless = "layer.00".repeat(1000);
    assert!(close_names(&endless, all()).starts_with("it holds 25 others"));
}

#[test]
fn dtypes_by_name() {
    assert_eq!(Dtype::from_name("BF16").unwrap().to_string(), "BF16");
    for name in ["F33", "bf16", ""] {
        assert_eq!(Dtype::from_name(name), None);
    }
}
