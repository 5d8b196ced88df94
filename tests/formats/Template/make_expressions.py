#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes expressions.jsonl: random templates, and what Jinja with the settings of transformers makes of
them. Needs jinja2 3.1 (pip install jinja2); run it in this folder after changing it. Templates whose
text depends on addresses are left out."""
import copy
import json
import random

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
import jinja2.ext
class Gen(jinja2.ext.Extension):
    tags={'generation'}
    def parse(self,parser):
        lineno=next(parser.stream).lineno
        body=parser.parse_statements(['name:endgeneration'],drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method('_s'),[],[],body).set_lineno(lineno)
    def _s(self,caller): return caller()
def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
def raise_exception(m): raise jinja2.exceptions.TemplateError(m)
env=ImmutableSandboxedEnvironment(trim_blocks=True,lstrip_blocks=True,extensions=[Gen,jinja2.ext.loopcontrols])
env.filters['tojson']=tojson; env.globals['raise_exception']=raise_exception
VARS={'messages':[{'role':'system','content':'  You are ß Σας. '},{'role':'user','content':'Hi "there"\n\'x\'','name':'ada'},{'role':'assistant','content':None,'tool_calls':[{'function':{'name':'f','arguments':{'a':1,'b':[1.5,True,None]}}}]},{'role':'tool','content':'é東京😀'}],
 'n':7,'z':0,'neg':-3,'f':2.5,'g':-0.125,'s':'heddle Loom','e':'','u':'Straße ǆ İ ﬁ ΑΣ','l':[3,1,2],'ll':[[1,'a'],[2,'b']],'m':['b','A','c','a'],'d':{'b':2,'a':1,'items':5,'get':9},'t':True,'fa':False,'no':None,'el':[],'ed':{},'big':12345,'sp':' a  b\tc\n d ','objs':[{'k':'x','v':2},{'k':'Y','v':1},{'k':'x','v':3}]}
names=list(VARS)+['undef','undef2']
R=random.Random(7)
def lit():
    return R.choice(['0','1','2','3','-1','10','2.5','1e3','0.1','1e16','1e-5',"'a'","'x=%s'",'"q\\n"',"'heddle'","''","' '","','",'true','false','none','[]','{}','[1,2,3]',"['a','b']","{'a':1}","(1,2)","(1,)",'range(3)','range(5,0,-2)',"'é😀'","'{}'","'%d%%'","'abc abc'","'A-b (c)'"])
FILT=['abs','capitalize','center(9)','count','d(1)',"default('z',true)",'dictsort',"dictsort(true,'value',true)",'first','float','int','int(5,16)','indent','indent(2,true,true)',"indent('> ')",'items|list','join',"join(', ')","join('-',attribute='k')",'last','length','list','lower',"map('upper')|list","map(attribute='k')|list","map(attribute='zz',default='-')|list","map('trim')|join('|')",'max','min',"min(attribute='v')","reject('none')|list","rejectattr('v','gt',1)|list","replace('a','bb')","replace('a','b',1)",'reverse','reverse|list','round','round(1)','round(-1)',"round(1,'ceil')","round(0,'floor')","select|list","select('odd')|list","select('string')|list","selectattr('k')|list","selectattr('k','equalto','x')|map(attribute='v')|list",'slice(2)|list','slice(3,0)|list','sort','sort(true)',"sort(attribute='v')","sort(attribute='k,v')|map(attribute='v')|list","sort(case_sensitive=true)",'string','sum',"sum(attribute='v')","sum(start=2)",'title','tojson','tojson(indent=2)','tojson(sort_keys=true)',"tojson(separators=(',',':'))",'tojson(ensure_ascii=true)','trim',"trim('a ')",'truncate(5)','truncate(5,true)',"truncate(6,false,'..',0)",'unique|list','unique(true)|list','upper','wordcount','batch(2)|list','batch(3,0)|list',"groupby('k')","groupby('k')|map('last')|map('length')|list","format(1)","attr('x')" ,"map('int')|list","map('string')|list","map('length')|list","map('tojson')|list","map('default','q')|list","select('in',[1,2])|list"]
TEST=['boolean','callable','defined','divisibleby 3','divisibleby(2)','even','odd','false','true','float','integer','iterable','lower','upper','mapping','none','number','sequence','string','undefined','eq 1',"eq('a')","ne 2",'in [1,2]',"in('abc')",'lt 3','gt(1)','le 2','ge 2','not none','not defined',"equalto 'a'",'boolean']
METH=['.upper()','.lower()','.title()','.capitalize()','.swapcase()','.strip()',".strip('h e')",".lstrip()",".rstrip('m')",'.split()',".split('e')",".split(' ',1)",".rsplit(None,1)",".rsplit('d',1)",'.splitlines()','.splitlines(true)',".replace('e','E')",".replace('','-')",".replace('e','E',1)",".find('d')",".rfind('d')",".find('e',2)",".find('d',-3,-1)",".count('d')",".count('')",".startswith('h')",".startswith(('x','h'))",".endswith('m')",".endswith('e',0,6)",".join(['p','q'])",".join('abc')",".partition(' ')",".rpartition('d')",".zfill(12)",".center(12,'*')",".center(13)",".ljust(12,'.')",".rjust(12)",'.isalpha()','.isspace()','.isupper()','.islower()','.isalnum()','.isdecimal()','.isascii()',".removeprefix('he')",".removesuffix('om')",".index('e')",".format(1,a=2)",'.keys()','.values()','.items()','.items()|list',".get('a')",".get('q')",".get('q',0)",'.keys()|list','.copy()',".count(1)",".index(2)",".a",".b.c",".items",".name",".role",".0","['a']","['role']","[0]","[-1]","[1:]","[:-1]","[::-1]","[1:3]","[::2]","[-3:]","[5:1:-2]","[9]","[none]","['upper']()","[f]",".append(1)",".pop()",".x.y",".k","['get']","['items']"]
def expr(d):
    k=R.random()
    if d<=0 or k<.18: return R.choice(names) if R.random()<.6 else lit()
    if k<.34: return f"{expr(d-1)}|{R.choice(FILT)}" if R.random()<.7 else f"({expr(d-1)})|{R.choice(FILT)}"
    if k<.44: return f"({expr(d-1)} is {R.choice(TEST)})"
    if k<.62: 
        b=R.choice(names) if R.random()<.6 else '('+expr(d-1)+')'
        return b+R.choice(METH)
    if k<.80: return f"({expr(d-1)} {R.choice(['+','-','*','/','//','%','~','==','!=','<','<=','>','>=','in','not in','and','or'])} {expr(d-1)})"
    if k<.84: return f"(not {expr(d-1)})"
    if k<.87: return f"(-{expr(d-1)})"
    if k<.91: return f"({expr(d-1)} if {expr(d-1)} else {expr(d-1)})"
    if k<.93: return f"({expr(d-1)} if {expr(d-1)})"
    if k<.95: return f"[{expr(d-1)}, {expr(d-1)}]"
    if k<.96: return f"({expr(d-1)}, {expr(d-1)})"
    if k<.97: return "{'k': %s, 'j': %s}"%(expr(d-1),expr(d-1))
    if k<.985:
        spec=R.choice(["'%s'","'%r'","'%d'","'%5d|'","'%-6s|'","'%.2f'","'%05.1f'","'%x'","'%s %s'","'%(a)s'","'%e'","'%g'","'%+d'","'%c'","'%%'","'%i'","'%5.1s|'"])
        return f"({spec} % {expr(d-1)})"
    spec=R.choice(["'{}'","'{0} {0}'","'{:>8}'","'{:*^9}'","'{:<6}|'","'{:.2f}'","'{:05d}'","'{:,}'","'{:x}'","'{:+}'","'{!r}'","'{0[0]}'","'{:e}'","'{:%}'","'{:g}'","'{:_}'","'{:#x}'","'{:3}|'","'{:s}'"])
    return f"{spec}.format({expr(d-1)})"
def ws(): return R.choice(['',' ','\n','\n  ','  \n','x ','\ty\n'])
def tag(s): return '{%'+R.choice(['','','-','+'])+' '+s+' '+R.choice(['','','-'])+'%}'
def out(e): return '{{'+R.choice(['','','-'])+' '+e+' '+R.choice(['','-'])+'}}'
def stmt(d):
    k=R.random()
    if d<=0 or k<.35: return ws()+out(expr(2))
    if k<.5: return ws()+tag('if '+expr(1))+block(d-1)+(tag('elif '+expr(1))+block(d-1) if R.random()<.3 else '')+(tag('else')+block(d-1) if R.random()<.5 else '')+tag('endif')
    if k<.68:
        v=R.choice(['m','x','k','role','k, v']); it=R.choice(['messages','objs','l','m','d','d.items()','d|dictsort','ll','range(3)','s[:3]','el','undef','[1,2,1]',expr(1)])
        body=block(d-1)+R.choice(['','{{ loop.index }}','{{ loop.last }}{{ loop.revindex0 }}',"{{ loop.cycle('p','q') }}",'{% if loop.changed(x) %}!{% endif %}','{% if loop.index0 == 1 %}{% break %}{% endif %}after','{% if loop.first %}{% continue %}{% endif %}rest','{{ loop.previtem }}','{{ loop.nextitem is defined }}'])
        return ws()+tag(f"for {v} in {it}"+(' if '+expr(1) if R.random()<.2 else ''))+body+(tag('else')+'none' if R.random()<.2 else '')+tag('endfor')
    if k<.78: return ws()+tag('set '+R.choice(['x','y','n','x, y'])+' = '+expr(2))
    if k<.82: return tag('set x'+R.choice(['',' | upper',' | trim | length']))+block(d-1)+tag('endset')
    if k<.86: return tag('filter '+R.choice(['upper','trim','length','indent(1)']))+block(d-1)+tag('endfilter')
    if k<.9: 
        return tag("macro mac(a, b=%s)"%expr(0))+block(d-1)+R.choice(['','{{ a }}','{{ a ~ b }}','{{ caller() if caller is defined }}','{{ varargs }}','{{ kwargs }}'])+tag('endmacro')+out(R.choice(['mac(1)','mac(1,2)','mac(b=3)','mac(1,2,3)','mac(1,q=2)','mac()','mac(*l)',"mac(**{'a':1})"]))
    if k<.93: return tag('set ns = namespace(c=0)')+tag('for q in '+R.choice(['l','m','messages']))+tag('set ns.c = ns.c + 1')+tag('endfor')+out('ns.c')
    if k<.95: return tag('with x = '+expr(1))+block(d-1)+tag('endwith')
    if k<.97: return tag('raw')+' {{ x }} {% if %} '+tag('endraw')
    if k<.985: return ws()+'{#'+R.choice(['','-'])+' c '+R.choice(['','-'])+'#}'+ws()
    return '{% generation %}'+block(d-1)+'{% endgeneration %}'
def block(d): return ''.join(stmt(d) for _ in range(R.randint(1,3)))+ws()

def answer(template):
    try:
        text = env.from_string(template).render(**copy.deepcopy(VARS))
    except Exception:
        return {"template": template, "error": True}
    return {"template": template, "rendered": text}


def main():
    with open("expressions.jsonl", "w", encoding="utf-8") as file:
        file.write(json.dumps({"variables": VARS}, ensure_ascii=False) + "\n")
        left = {"rendered": 450, "error": 150}
        while any(left.values()):
            found = answer(out(expr(3)) if R.random() < 0.5 else block(3))
            kind = "error" if "error" in found else "rendered"
            # Constants without slices: Jinja answers differently when they are variables.
            folded = "'a':1})[" in found["template"]
            if left[kind] == 0 or folded or " at 0x" in found.get("rendered", ""):
                continue
            left[kind] -= 1
            file.write(json.dumps(found, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
