//! Effects in time by hand: chains, gaps, and who can be in them.

use super::*;

fn span(from: u64, until: u64) -> Span {
    Span { from, until }
}

fn known(id: u64, from: u64, until: u64) -> Item {
    Item { id: Some(id), spans: vec![span(from, until)], is_required: true }
}

fn open(from: u64, until: u64, is_required: bool) -> Item {
    Item { id: None, spans: vec![span(from, until)], is_required }
}

#[test]
fn ids_follow_times() {
    let at = |a, b| place(&[known(1, a, a + 10), known(2, b, b + 10)], EffectIds::Dense, true);
    assert!(at(10, 20).is_ok() && at(10, 15).is_ok() && at(15, 10).is_ok());
    assert_eq!(at(30, 10).unwrap_err(), Clash::Order(0, 1));
    assert!(place(&[known(1, 30, 40), known(2, 10, 20)], EffectIds::Opaque, true).is_ok());
    let twice = [known(1, 10, 20), known(1, 30, 40)];
    assert_eq!(place(&twice, EffectIds::Opaque, true).unwrap_err(), Clash::Same(0, 1));
}

#[test]
fn a_gap_is_filled_by_one_that_fits() {
    let dense = |items: &[Item]| place(items, EffectIds::Dense, true);
    let around = [known(1, 10, 20), known(3, 40, 50)];
    let with = |more: &[Item]| dense(&[&around[..], more].concat());
    assert_eq!(with(&[]).unwrap_err(), Clash::Gap(1));
    assert_eq!(with(&[open(60, 70, false)]).unwrap_err(), Clash::Gap(1));
    let one = with(&[open(30, 35, false)]).unwrap();
    assert_eq!((one.shares[2].can_be, one.shares[2].can_lack), (true, false), "it must have filled the gap");
    let two = with(&[open(30, 35, false), open(31, 36, false)]).unwrap();
    assert!(two.shares[2].can_lack && two.shares[3].can_lack);
    assert!(two.shares[2].only.is_some() && two.shares[2].only == two.shares[3].only, "exactly one of them");
    // One that must be there takes the gap; another then has no room.
    let taken = with(&[open(30, 35, true), open(31, 36, false)]).unwrap();
    assert_eq!((taken.shares[3].can_be, taken.shares[3].can_lack), (false, true));
    assert_eq!(with(&[open(30, 35, true), open(31, 36, true)]).unwrap_err(), Clash::NoRoom(3));
}

#[test]
fn a_gap_is_left_where_ids_may_have_gaps() {
    let around = [known(1, 10, 20), known(3, 40, 50)];
    assert!(place(&around, EffectIds::Increasing, true).is_ok());
    let next = [known(1, 10, 20), known(2, 40, 50), open(30, 35, true)];
    assert_eq!(place(&next, EffectIds::Increasing, true).unwrap_err(), Clash::NoRoom(2));
}

#[test]
fn effects_that_cross_change_their_gaps() {
    // The first fits the first gap only by coming after the second, which then has to take that gap.
    let items = [known(1, 0, 1), known(3, 0, 100), known(5, 99, 101), open(60, 70, true), open(30, 40, true)];
    let placed = place(&items, EffectIds::Dense, true).unwrap();
    let time = |item: usize| placed.times[item].unwrap();
    assert!(time(0) < time(4) && time(4) < time(1) && time(1) < time(3) && time(3) < time(2));
    assert!(time(4).0 < 40 && time(3).0 < 70);
}
